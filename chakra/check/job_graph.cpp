#include "chakra/check/job_graph.h"

#include <algorithm>

#include "chakra/check/proof.h"

namespace chakra::check {

using match::NodeRef;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

namespace {

constexpr size_t kLaneNeighbours = 8;  ///< earlier communication of a lane that a node is compared with

/// After the end of `on`, this much time passes for certain before `node` can begin.
Picoseconds lag_between(const Trace& t, NodeId on, NodeId node) {
  Picoseconds lag = 0;
  for (uint32_t e = t.deps.begin[node]; e < t.deps.begin[node + 1]; ++e)
    if (t.deps.node[e] == on) lag = std::max(lag, t.deps.lag_of(e));
  return lag;
}

}  // namespace

const match::Collective* collective_of(const trace::TraceSet& job, const match::Matching& matching, NodeRef at) {
  const Trace& t = job.ranks[at.rank];
  if (t.type[at.node] != NodeType::coll || t.comm_row[at.node] == trace::kNoRow) return nullptr;
  const uint32_t id = matching.of_comm[at.rank][t.comm_row[at.node]];
  return id == trace::kNoRow ? nullptr : &matching.collectives[id];
}

JobGraph::JobGraph(const trace::TraceSet& job, const match::Matching& matching) : job_(job), matching_(matching) {
  uint32_t nodes = 0;
  for (const Trace& t : job_.ranks) {
    base_.push_back(nodes);
    nodes += t.size();
    group_before_.emplace_back(t.comms.size(), kNoNode);
    lane_before_.emplace_back();
  }
  base_.push_back(nodes);
  order_groups();
  trace::each_rank(job_, [&](trace::RankIndex r) { order_lanes(r); });
}

uint32_t JobGraph::vertex(trace::RankIndex r, NodeId n) const {
  if (const match::Collective* c = collective_of(job_, matching_, {r, n}))
    for (const NodeRef& ref : c->members)
      if (ref.node != kNoNode) return base_[ref.rank] + ref.node;
  return base_[r] + n;
}

NodeRef JobGraph::node_of(uint32_t vertex) const {
  const trace::RankIndex r(std::upper_bound(base_.begin(), base_.end(), vertex) - base_.begin() - 1);
  return {r, NodeId(vertex - base_[r])};
}

bool JobGraph::is_comm(uint32_t vertex) const {
  const NodeRef at = node_of(vertex);
  return trace::is_comm(job_.ranks[at.rank].type[at.node]);
}

/// Collectives of a group that name no lane run in the group's order.
void JobGraph::order_groups() {
  std::vector<NodeId> last;
  for (const match::Collective& c : matching_.collectives) {
    if (c.index == 0) last.assign(c.members.size(), kNoNode);
    for (size_t m = 0; m < c.members.size(); ++m) {
      const auto [r, n] = c.members[m];
      if (n == kNoNode || job_.ranks[r].lane[n] != trace::kNoLane) continue;
      group_before_[r][job_.ranks[r].comm_row[n]] = last[m];
      last[m] = n;
    }
  }
}

/// A lane runs the lowest row of those that are ready. So a node runs before a later row of its lane for certain
/// if it is ready whenever that one is: that one also waits for all that it waits for.
void JobGraph::order_lanes(trace::RankIndex r) {
  const Trace& t = job_.ranks[r];
  std::vector<std::vector<NodeId>> lanes(t.lanes.size());
  for (const NodeId n : t.nodes())
    if (trace::is_comm(t.type[n]) && t.lane[n] != trace::kNoLane) lanes[t.lane[n]].push_back(n);
  const std::vector<NodeId> order = trace::topological_order(t.deps).order;
  std::vector<std::pair<NodeId, NodeId>> neighbours;  // before, after
  for (const auto& nodes : lanes)
    for (size_t i = 1; i < nodes.size(); ++i)
      for (size_t back = 1; back <= std::min(i, kLaneNeighbours); ++back)
        neighbours.emplace_back(nodes[i - back], nodes[i]);
  const std::vector<bool> direct = joined(t, order, neighbours, true);
  std::vector<std::pair<NodeId, NodeId>> candidates, questions;
  for (size_t i = 0; i < neighbours.size(); ++i)
    if (!direct[i]) {
      candidates.push_back(neighbours[i]);
      for (const NodeId on : t.deps.of(neighbours[i].first)) questions.emplace_back(on, neighbours[i].second);
    }
  const std::vector<bool> answers = joined(t, order, questions, false);
  size_t at = 0;
  for (const auto& [before, after] : candidates) {
    bool certain = true;
    for (uint32_t e = t.deps.begin[before]; e < t.deps.begin[before + 1]; ++e)
      certain &= bool{answers[at++]} && t.deps.lag_of(e) <= lag_between(t, t.deps.node[e], after);
    if (certain) lane_before_[r].emplace_back(after, before);
  }
  std::sort(lane_before_[r].begin(), lane_before_[r].end());
}

/// Appends what one member of a vertex waits for.
void JobGraph::waits_of_node(NodeRef at, std::vector<Step>& steps) const {
  const trace::RankIndex r = at.rank;
  const NodeId n = at.node;
  const Trace& t = job_.ranks[r];
  const auto on = [&](NodeId before, Why why) { steps.push_back({vertex(r, before), {r, before}, at, why}); };
  for (const NodeId before : t.deps.of(n)) on(before, Why::dependency);
  if (!trace::is_comm(t.type[n]) || t.comm_row[n] == trace::kNoRow) return;
  if (t.type[n] == NodeType::coll && group_before_[r][t.comm_row[n]] != kNoNode)
    on(group_before_[r][t.comm_row[n]], Why::group);
  const auto& lane = lane_before_[r];
  for (auto i = std::lower_bound(lane.begin(), lane.end(), std::pair(n, NodeId{0})); i != lane.end() && i->first == n;
       ++i)
    on(i->second, Why::lane);
  if (t.type[n] != NodeType::recv || matching_.of_comm[r][t.comm_row[n]] == trace::kNoRow) return;
  if (const NodeRef send = matching_.messages[matching_.of_comm[r][t.comm_row[n]]].send; send.node != kNoNode)
    steps.push_back({vertex(send.rank, send.node), send, at, Why::message});
}

void JobGraph::waits_of(uint32_t vertex, std::vector<Step>& steps) const {
  const NodeRef at = node_of(vertex);
  const match::Collective* c = collective_of(job_, matching_, at);
  if (!c) return waits_of_node(at, steps);
  for (const NodeRef& ref : c->members)
    if (ref.node != kNoNode) waits_of_node(ref, steps);
}

}  // namespace chakra::check
