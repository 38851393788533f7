// The one place that matches communication nodes of different ranks:
// collectives by group and sequence number, or else position; messages
// by sender, receiver and tag. For code that handles more than one rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/windows.h"  // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::match {

/// Return whether no rank can leave the collective before all have come, so that all leave together.
inline bool ends_together(trace::CommType type) {
  return type == trace::CommType::all_reduce || type == trace::CommType::all_gather ||
         type == trace::CommType::all_to_all || type == trace::CommType::reduce_scatter ||
         type == trace::CommType::reduce_scatter_block || type == trace::CommType::barrier;
}

/// Return whether the members need the root to have come; whether the root needs the members.
inline bool root_gives(trace::CommType type) {
  return type == trace::CommType::broadcast || type == trace::CommType::scatter;
}
inline bool root_gets(trace::CommType type) {
  return type == trace::CommType::reduce || type == trace::CommType::gather;
}

/// Groups given beside the traces: name -> ranks (docs/reference/formats/groups.md).
using GroupTable = std::map<std::string, std::vector<int64_t>, std::less<>>;
/// Load a groups file. Errors: match.groups.form, match.groups.rank, and those of load_spec.
Result<GroupTable> load_groups(const std::string& path);

struct Group {
  std::string name;
  std::vector<int64_t> ranks;  ///< in the group's order; may include ranks that the job lacks
  bool known = true;           ///< false: members are not listed; `ranks` are the users of the group
  int64_t size = 0;            ///< expected number of ranks; 0: unknown
  bool odd = false;            ///< a collective has sizes for another number of ranks
  bool assumed = false;        ///< not listed anywhere: taken to be all ranks of the job
};

/// Index into TraceSet::ranks and a row in that trace.
struct NodeRef {
  trace::RankIndex rank{0};
  trace::NodeId node = trace::kNoNode;
};

/// Whether the ends of a collective or message say the same.
enum class Doubt : uint8_t {
  none,
  content,  ///< they state different sizes, element types, roots or members of the group
  ends,     ///< they may not belong together: different operations, or the lists of the ranks do not fit
};

struct Collective {
  uint32_t group = 0;  ///< into Matching::groups
  uint32_t index = 0;  ///< position among the collectives of its group
  trace::CommType type = trace::CommType::unknown;
  Doubt doubt = Doubt::none;
  uint64_t bytes = 0;            ///< largest comm_size of the members
  int64_t root = -1;             ///< a rank; -1 if no root is named
  std::vector<NodeRef> members;  ///< parallel to the group's ranks; node kNoNode for missing members
};

struct Message {
  NodeRef send, recv;  ///< node kNoNode if an end is missing
  uint64_t bytes = 0;
  Doubt doubt = Doubt::none;
};

struct Matching {
  std::vector<Group> groups;
  std::vector<Collective> collectives;
  std::vector<Message> messages;
  /// Per rank and row of Trace::comms: into collectives or
  /// messages, or kNoRow. Only communication nodes have such rows.
  std::vector<std::vector<uint32_t>> of_comm;
  /// Mismatches (docs/explanation/checking.md): match.collective.count, .order, .type, .bytes, .dtype, .root, .split,
  /// .number, .group, .sequence, .type_unknown, .size_unknown, match.group.unknown, .members, match.rank.not_in_group,
  /// .missing, match.message.no_send, .no_recv, .bytes, .dtype, .order, .tag, .peer, .peer_unknown. Findings about
  /// collectives have the facts group and index, findings about messages sender, receiver, message_tag and index. Only
  /// the first finding of each rank in a group, and of each channel, is listed, with the number of further ones.
  Findings findings;
};

/// Match the communication of a job. Groups "" and "0" are all ranks of the job unless specified otherwise. Collectives
/// and messages are paired by number or position even if findings report a missing one, because a run would do so.
/// Cost: O(nodes + edges + communication log communication), and O(members^2) for each all-to-all with splits.
Matching match(const trace::TraceSet& job, const GroupTable& groups = {});

/// Return whether no member can end before the last one has come; a recorded earlier end then shows a clock
/// offset. Without data only a barrier waits, and of uneven parts some may be empty. Cost: O(members).
bool waits_for_all(const trace::TraceSet& job, const Collective& collective);

/// Return whether a finding of match() means that ranks would exchange mismatched data. Other errors of match() make
/// a run wait forever, which the run itself detects (except match.message.no_recv: no rank waits for a receive).
bool is_contradiction(const Finding& finding);

}  // namespace chakra::match
