// The operations of a rank in a repetition by partners, compared with those of the other ranks. Inside replay.
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
  std::string key;  ///< readable; the same at all members
  bool is_group = false;
  std::string group;             ///< name
  int64_t tag = 0;               ///< of messages
  std::vector<int64_t> members;  ///< of a group in its order; of messages the sender and the receiver
  uint64_t count = 0;            ///< operations of this rank
  uint64_t types = 0;            ///< digest of indices and types
  uint64_t sizes = 0;            ///< digest of indices, roots and bytes
  bool in_order = false;         ///< this rank starts the operations in index order, regardless of other ranks

  // Results of compare_parties().
  bool complete = false;  ///< every member has the party, with the same members
  /// In addition, all members have equal operations to the byte and start them in index order.
  bool agreed = false;
};

/// Return the parties of the selected nodes (empty: all) by key. Cost: O(nodes); for groups in lanes
/// and for messages O(nodes) each, up to a limit; beyond the limit they count as not in order.
std::vector<Party> parties_of(const RankPlan& plan, const std::vector<bool>& selected);

/// Compare the parties of all ranks; all ranks must call this function. With `strict`, different numbers
/// or types of operations are an error: replay.comm.differ, and those of Rendezvous::exchange().
Result<void> compare_parties(std::vector<Party>& own, int64_t rank, bool strict, Rendezvous& rendezvous);

/// Return the key of the meeting of an operation's participants.
std::string meeting_key(const Operation& operation, int64_t own);
/// Return the contribution of a rank to the meeting, now. `bytes` must be equal at all ranks; 0: any.
std::string bring(const Operation& operation, uint64_t bytes);
struct Brought {
  Picoseconds least_ps = -1;  ///< shortest recorded duration among the participants, else -1
  /// Arrival of the last participant; no value if the participants run on several machines.
  std::optional<std::chrono::steady_clock::time_point> last_came{};
};
/// Compare the contributions of all participants. Errors: replay.comm.differ.
Result<Brought> compare_brought(const Met& met, const std::string& described);

/// Return the identity of this machine: equal for all processes with a common clock.
const std::string& this_machine();

}  // namespace chakra::replay
