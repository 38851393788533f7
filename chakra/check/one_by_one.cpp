#include <vector>

#include "chakra/check/proof.h"

namespace chakra::check {
namespace {

using match::NodeRef;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Whether collectives of a group stand in its order on each rank.
bool groups_in_order(const trace::TraceSet& job, const match::Matching& matching, const Communication& comms) {
  const auto ranks = static_cast<uint32_t>(job.ranks.size());
  std::vector<std::vector<uint32_t>> place(ranks);  // per communication: its position in the order of its rank
  for (uint32_t r = 0; r < ranks; ++r) {
    place[r].resize(job.ranks[r].comms.size());
    for (uint32_t i = 0; i < comms[r].size(); ++i) place[r][job.ranks[r].comm_row[comms[r][i]]] = i;
  }
  std::vector<uint32_t> last;
  for (const match::Collective& c : matching.collectives) {
    if (c.index == 0) last.assign(c.members.size(), 0);
    for (size_t m = 0; m < c.members.size(); ++m) {
      const auto [r, n] = c.members[m];
      if (n == kNoNode) continue;
      const uint32_t at = place[r][job.ranks[r].comm_row[n]];
      if (at < last[m]) return false;
      last[m] = at;
    }
  }
  return true;
}

}  // namespace

bool runs_one_by_one(const trace::TraceSet& job, const match::Matching& matching, const Communication& comms) {
  if (!groups_in_order(job, matching, comms)) return false;
  const auto ranks = static_cast<uint32_t>(job.ranks.size());
  std::vector<uint32_t> missing(matching.collectives.size(), 0);
  for (size_t i = 0; i < missing.size(); ++i)
    for (const NodeRef& ref : matching.collectives[i].members) missing[i] += ref.node != kNoNode;
  std::vector<bool> sent(matching.messages.size(), false);
  std::vector<uint32_t> at(ranks, 0);  // into comms
  std::vector<uint32_t> active(ranks);
  for (uint32_t r = 0; r < ranks; ++r) active[r] = ranks - 1 - r;
  std::vector<bool> arrived(ranks, false);  // at the collective before which the rank stands
  while (!active.empty()) {
    const uint32_t r = active.back();
    active.pop_back();
    const Trace& t = job.ranks[r];
    for (uint32_t& i = at[r]; i < comms[r].size(); ++i) {
      const NodeId n = comms[r][i];
      const uint32_t id = matching.of_comm[r][t.comm_row[n]];
      if (id == trace::kNoRow) continue;
      if (t.type[n] == NodeType::send) {
        sent[id] = true;
        const auto [to, receive] = matching.messages[id].recv;
        if (receive != kNoNode && to != r && at[to] < comms[to].size() && comms[to][at[to]] == receive)
          active.push_back(to);
      } else if (t.type[n] == NodeType::recv) {
        if (!sent[id] && matching.messages[id].send.node != kNoNode) break;
      } else {
        if (arrived[r]) break;
        arrived[r] = true;
        if (--missing[id] > 0) break;
        for (const NodeRef& ref : matching.collectives[id].members) {
          if (ref.node == kNoNode) continue;
          arrived[ref.rank] = false;
          if (ref.rank == r) continue;
          ++at[ref.rank];
          active.push_back(ref.rank);
        }
      }
    }
  }
  for (uint32_t r = 0; r < ranks; ++r)
    if (at[r] < comms[r].size()) return false;
  return true;
}

}  // namespace chakra::check
