// What a rank does with which others in a repetition, and what the others say of the same. Inside replay.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/plan.h"
#include "chakra/replay/rendezvous.h"

namespace chakra::replay {

/// The collectives of a group, or the messages from one rank to another with a tag.
struct Party {
  std::string key;  ///< for people, the same at all members
  bool is_group = false;
  std::string group;             ///< name
  int64_t tag = 0;               ///< of messages
  std::vector<int64_t> members;  ///< of a group in its order; of messages sender and receiver
  uint64_t count = 0;            ///< operations of this rank
  uint64_t types = 0;            ///< digest of their indices and types
  uint64_t sizes = 0;            ///< digest of their indices, roots and bytes
  bool in_order = false;         ///< this rank starts them in the order of their indices, whatever the others do

  // What compare_parties() finds.
  bool complete = false;  ///< every member has it, with the same members
  /// Besides, the same operations to the bytes, which every member starts in the order of their indices.
  bool agreed = false;
};

/// Of the nodes that are selected (empty: all), by key. Cost: O(nodes); for groups in lanes and for messages O(nodes)
/// each, up to a limit; beyond it they count as not in order.
std::vector<Party> parties_of(const RankPlan& plan, const std::vector<bool>& selected);

/// Every rank says what it has; called by all. With `strict` ranks that do not agree on the numbers and types of
/// operations are an error: replay.comm.differ, and those of Rendezvous::exchange().
Result<void> compare_parties(std::vector<Party>& own, int64_t rank, bool strict, Rendezvous& rendezvous);

/// The key of the meeting of those who take part in the operation.
std::string meeting_key(const Operation& operation, int64_t own);
/// What a rank brings to it, now; they must all speak of the same number of bytes, 0: of any.
std::string bring(const Operation& operation, uint64_t bytes);
struct Brought {
  Picoseconds least_ps = -1;  ///< the shortest recorded time of those who brought one, else -1
  /// When the last one came; nothing where they are on several machines.
  std::optional<std::chrono::steady_clock::time_point> last_came{};
};
/// Errors: replay.comm.differ.
Result<Brought> compare_brought(const Met& met, const std::string& described);

/// The same for all processes that have one clock.
const std::string& this_machine();

}  // namespace chakra::replay
