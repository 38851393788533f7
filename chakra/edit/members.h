// What members of a group move when the group becomes another one. Inside edit.
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

/// What an all-to-all with lists sends to each member, and gets from each, in elements.
struct Parts {
  std::vector<uint64_t> in, out;
  uint64_t element_bytes = 0;  ///< 0: nothing moves
};
inline bool has_parts(const trace::Comm& comm) { return !comm.in_split.empty() || !comm.out_split.empty(); }
/// Of a node with a list; a direction without one is even.
/// Errors: edit.parts for lists of another length, or that are not those of its sizes.
Result<Parts> parts_of(const trace::Trace& trace, trace::NodeId node, size_t members);
/// Lists, and the sizes that they add up to.
void set_parts(trace::Trace& trace, trace::NodeId node, const Parts& parts);

/// What a node does: what it says, else what other members say.
inline trace::CommType type_of(const trace::Trace& trace, trace::NodeId node, const match::Collective& collective) {
  const trace::CommType own = trace.comm(node)->type;
  return own == trace::CommType::unknown ? collective.type : own;
}

/// The rank that is the root of a collective: named as a rank, or else by its place. -1: it has none.
/// Errors: edit.root for one that is not in the group.
Result<int64_t> root_of(const trace::Trace& trace, trace::NodeId node, const match::Group& group);

using GroupLists = std::map<std::string, std::vector<int64_t>, std::less<>>;
/// All groups of the job whose members are listed somewhere, used or not. Cost: O(ranks + members).
GroupLists listed_groups(const trace::TraceSet& job, const match::GroupTable& groups, const match::Matching& matching);

struct NewGroup {
  std::string name;
  std::vector<int64_t> ranks;  ///< none: it is gone
};
using NewGroups = std::map<std::string, NewGroup, std::less<>>;  ///< by the names that they had
/// The trace describes `known` groups that it described or uses as they are now. One without a list was all of `before`
/// ranks and is all of `ranks`; where it had fewer, who they are is unknown, and it goes. Requires that the nodes have
/// the old names.
void describe_groups(trace::Trace& trace, const NewGroups& known, int64_t before, int64_t ranks);

}  // namespace chakra::edit
