#include "chakra/sim/engine/operations.h"

#include <numeric>

namespace chakra::sim {

using trace::CommType;
using trace::NodeId;

coll::Operation Operations::of(const match::Collective& c, ActorId a, NodeId n) {
  coll::Operation op{c.type, c.bytes, job_.folded.root[a][job_.trace(a).comm_row[n]], {}};
  if (c.type != CommType::all_to_all) return op;  // the others have no sizes of their own, whatever a file says
  for (const match::NodeRef& ref : c.members)
    if (ref.node != trace::kNoNode && !job_.trace(ref.rank).comm(ref.node)->in_split.empty()) {
      find_shares(c);
      op.splits = shares_;
      break;
    }
  return op;
}

/// Read the shares of each member's input from in_split, in elements.
void Operations::find_shares(const match::Collective& c) {
  const GroupPlaces& places = job_.places[c.group];
  const size_t n = places.member_at.size();
  shares_.assign(n * n, 0);
  for (size_t p = 0; p < n; ++p) {
    const match::NodeRef& ref = c.members[places.member_at[p]];
    if (ref.node == trace::kNoNode) continue;
    const trace::Comm& comm = *job_.trace(ref.rank).comm(ref.node);
    const uint64_t bytes = comm.in_bytes ? comm.in_bytes : comm.bytes;
    std::vector<uint64_t> split;
    if (!trace::parse_split(comm.in_split, split)) split.clear();
    const double sum = std::accumulate(split.begin(), split.end(), 0.0);
    for (size_t q = 0; q < n; ++q)
      shares_[p * n + q] =
          split.size() != n || sum == 0
              ? (split.empty() ? bytes / n : 0)
              : static_cast<uint64_t>(static_cast<double>(bytes) / sum * static_cast<double>(split[q]) + 0.5);
  }
}

}  // namespace chakra::sim
