// Communication volume of group members when the group changes. Inside edit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

inline constexpr int64_t kMostRanks = 1 << 20;
inline constexpr int64_t kMostNodes = int64_t{1} << 31;

/// The same part of a buffer for each of `members`, rounded up to whole elements where the buffer has whole elements.
uint64_t part_of(uint64_t bytes, uint64_t members, uint64_t element_bytes);

/// Elements that an all-to-all with lists sends to, and receives from, each member.
struct Parts {
  std::vector<uint64_t> in, out;
  uint64_t element_bytes = 0;  ///< 0: no data
};
inline bool has_parts(const trace::Comm& comm) { return !comm.in_split.empty() || !comm.out_split.empty(); }
/// Return the parts of a node with a list; a direction without a list is even.
/// Errors: edit.parts for lists of another length, or that contradict the sizes of the node.
Result<Parts> parts_of(const trace::Trace& trace, trace::NodeId node, size_t members);
/// Set the lists and the resulting sizes.
void set_parts(trace::Trace& trace, trace::NodeId node, const Parts& parts);

/// Return the type of a node, or the type in other members if the node has no type.
inline trace::CommType type_of(const trace::Trace& trace, trace::NodeId node, const match::Collective& collective) {
  const trace::CommType own = trace.comm(node)->type;
  return own == trace::CommType::unknown ? collective.type : own;
}

/// Return the rank of the root of a collective. The trace has a rank, or else a position in the group. -1: no root.
/// Errors: edit.root for a root outside of the group.
Result<int64_t> root_of(const trace::Trace& trace, trace::NodeId node, const match::Group& group);

using GroupLists = std::map<std::string, std::vector<int64_t>, std::less<>>;
/// Return all groups of the job with a list of members, used or not. Cost: O(ranks + members).
GroupLists listed_groups(const trace::TraceSet& job, const match::GroupTable& groups, const match::Matching& matching);

struct NewGroup {
  std::string name;
  std::vector<int64_t> ranks;  ///< empty: the group was removed
};
using NewGroups = std::map<std::string, NewGroup, std::less<>>;  ///< by the old names
/// Update the descriptions of `known` groups that the trace described or uses. A group without a list had all `before`
/// ranks and now has all `ranks`. A smaller group without a list has unknown members, and is removed. Requires that the
/// nodes have the old names.
void describe_groups(trace::Trace& trace, const NewGroups& known, int64_t before, int64_t ranks);

}  // namespace chakra::edit
