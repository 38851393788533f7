// The one place that says which communication nodes of different ranks belong together: collectives by
// group and sequence number, or else position, messages by sender, receiver and tag. For code that looks at more than
// one rank.
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

/// A collective that no rank can leave before all have come, so that all leave together.
inline bool ends_together(trace::CommType type) {
  return type == trace::CommType::all_reduce || type == trace::CommType::all_gather ||
         type == trace::CommType::all_to_all || type == trace::CommType::reduce_scatter ||
         type == trace::CommType::reduce_scatter_block || type == trace::CommType::barrier;
}

/// A collective whose other members need the root to have come; one whose root needs the others.
inline bool root_gives(trace::CommType type) {
  return type == trace::CommType::broadcast || type == trace::CommType::scatter;
}
inline bool root_gets(trace::CommType type) {
  return type == trace::CommType::reduce || type == trace::CommType::gather;
}

/// Groups given beside the traces: name -> ranks (docs/reference/formats/groups.md).
using GroupTable = std::map<std::string, std::vector<int64_t>, std::less<>>;
/// Errors: match.groups.form, match.groups.rank, and those of load_spec.
Result<GroupTable> load_groups(const std::string& path);

struct Group {
  std::string name;
  std::vector<int64_t> ranks;  ///< in the group's order, as far as the job has them
  bool known = true;           ///< false: its members are not listed; these are the ranks that use it
  int64_t size = 0;            ///< how many ranks it should have; 0: not said
  bool odd = false;            ///< a collective has sizes of another number of ranks
  bool assumed = false;        ///< nobody lists them: taken to be all ranks of the job
};

/// Index into TraceSet::ranks and a row in that trace.
struct NodeRef {
  trace::RankIndex rank{0};
  trace::NodeId node = trace::kNoNode;
};

struct Collective {
  uint32_t group = 0;  ///< into Matching::groups
  uint32_t index = 0;  ///< position among the collectives of its group
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;            ///< largest comm_size of the members
  int64_t root = -1;             ///< a rank; -1 where none is named
  std::vector<NodeRef> members;  ///< parallel to the group's ranks; node kNoNode where one is missing
};

struct Message {
  NodeRef send, recv;  ///< node kNoNode where one is missing
  uint64_t bytes = 0;
};

struct Matching {
  std::vector<Group> groups;
  std::vector<Collective> collectives;
  std::vector<Message> messages;
  /// Per rank and node: into collectives or messages, or kNoRow. Only for communication nodes, so by
  /// row of Trace::comms.
  std::vector<std::vector<uint32_t>> of_comm;
  /// What does not fit (docs/explanation/checking.md): match.collective.count, .order, .type, .bytes, .dtype, .root,
  /// .split, .number, .group, .sequence, .type_unknown, .size_unknown, match.group.unknown, .members,
  /// match.rank.not_in_group, .missing, match.message.no_send, .no_recv, .bytes, .dtype, .order, .tag, .peer,
  /// .peer_unknown. About collectives with the facts group and index, about messages with sender, receiver,
  /// message_tag and index. Of each rank in a group, and of each channel, the first; it says how many follow.
  Findings findings;
};

/// Groups "" and "0" are all ranks of the job unless something says otherwise. Collectives and messages are paired by
/// number or position even where the findings say that one is missing: that is what a run would do.
/// Cost: O(nodes + edges + communication log communication), and O(members^2) for each all-to-all with splits.
Matching match(const trace::TraceSet& job, const GroupTable& groups = {});

/// Whether no member can end before the last one has come: then one that did has another clock. Without data only a
/// barrier waits, and of parts with sizes of their own some may be empty. Cost: O(members).
bool waits_for_all(const trace::TraceSet& job, const Collective& collective);

/// Whether a finding of match() means that ranks would exchange what does not fit together. Other errors of it make a
/// run wait for ever, which a run finds out by itself (match.message.no_recv alone: no rank waits for a receive).
bool is_contradiction(const Finding& finding);

}  // namespace chakra::match
