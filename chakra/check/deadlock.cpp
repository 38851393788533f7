// The ranks' graphs as one: matched collectives are one vertex, a receive waits for its send, and the rules of
// docs/simulation.md that always hold are edges, too. A circle in it is a deadlock; without one, none can happen.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/check/proof.h"

namespace chakra::check {
namespace {

using match::NodeRef;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kStepsNamed = 8;
constexpr size_t kLaneNeighbours = 8;  ///< earlier communication of a lane that a node is compared with
constexpr size_t kStarts = 16;         ///< places of a circle from which a shorter one is looked for
constexpr size_t kSearchBudget = 4'000'000;

enum class Why : uint8_t { dependency, group, lane, message };

/// v waits for u: on `rank`, node `after` runs after node `before`. A message: `before` is of the sender.
struct Step {
  uint32_t vertex;  ///< that is waited for
  NodeRef before, after;
  Why why;
};

class Prover {
 public:
  Prover(const trace::TraceSet& job, const match::Matching& matching, Findings& findings)
      : job_(job), matching_(matching), findings_(findings) {}

  void run() {
    if (cycles_of_ranks()) return;
    if (std::any_of(matching_.findings.begin(), matching_.findings.end(),
                    [](const Finding& f) { return f.severity == Severity::error; }))
      return;  // what belongs together is not known
    if (matching_.collectives.empty() && matching_.messages.empty()) return;
    if (runs_one_by_one()) return;
    size_t nodes = 0;
    for (const Trace& t : job_.ranks) {
      base_.push_back(static_cast<uint32_t>(nodes));
      nodes += t.size();
    }
    if (nodes >= UINT32_MAX) {
      findings_.push_back({"check.deadlock.size", Severity::warning, -1, -1,
                           "more nodes than can be looked at together: whether the ranks can wait for each other in a "
                           "circle is not known"});
      return;
    }
    base_.push_back(static_cast<uint32_t>(nodes));
    prepare();
    const std::vector<Step> circle = find_circle();
    if (!circle.empty()) report(shortened(circle));
  }

 private:
  bool is_matched_collective(uint32_t r, NodeId n) const {
    const Trace& t = job_.ranks[r];
    return t.type[n] == NodeType::coll && t.comm_row[n] != trace::kNoRow &&
           matching_.of_comm[r][t.comm_row[n]] != trace::kNoRow;
  }
  const match::Collective& collective(uint32_t r, NodeId n) const {
    return matching_.collectives[matching_.of_comm[r][job_.ranks[r].comm_row[n]]];
  }

  /// A rank's own graph has no circle.
  bool cycles_of_ranks() {
    bool any = false;
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
      const Trace& t = job_.ranks[r];
      for (const trace::Defect& d : t.defects)
        if (d.kind == trace::Defect::Kind::self_dep) {
          add(r, {d.node}, "waits for itself");
          any = true;
        }
      const trace::Order order = trace::topological_order(t.deps);
      if (order.cycle.empty()) {
        auto& comms = comms_.emplace_back();
        for (const NodeId n : order.order)
          if (trace::is_comm(t.type[n]) && t.comm_row[n] != trace::kNoRow) comms.push_back(n);
        continue;
      }
      any = true;
      std::string path;
      for (size_t i = 0; i < std::min(order.cycle.size(), kStepsNamed); ++i)
        path += fmt::format("{}{}", i ? " <- " : "", t.id[order.cycle[i]]);
      if (order.cycle.size() > kStepsNamed) path += " <- ...";
      add(r, order.cycle,
          fmt::format("waits for itself through {} nodes: {} (and {} nodes in or behind cycles can never run)",
                      order.cycle.size(), path, t.size() - order.order.size()));
    }
    return any;
  }
  void add(uint32_t r, const std::vector<NodeId>& cycle, std::string text) {
    const Trace& t = job_.ranks[r];
    Finding finding{"check.dep.cycle", Severity::error, t.rank, static_cast<int64_t>(t.id[cycle[0]]), std::move(text)};
    for (size_t i = 0; i < cycle.size() && finding.facts.empty(); ++i)
      finding.facts = facts_of(job_, matching_, r, cycle[i]);
    findings_.push_back(std::move(finding));
  }

  /// Whether it works even if each rank runs one node after the other, always the lowest row that is ready: all rules
  /// hold in that order, so then there is no circle. Cost: O(communication).
  bool runs_one_by_one() {
    const auto ranks = static_cast<uint32_t>(job_.ranks.size());
    std::vector<std::vector<uint32_t>> place(ranks);  // per communication: its position in the order of its rank
    for (uint32_t r = 0; r < ranks; ++r) {
      place[r].resize(job_.ranks[r].comms.size());
      for (uint32_t i = 0; i < comms_[r].size(); ++i) place[r][job_.ranks[r].comm_row[comms_[r][i]]] = i;
    }
    // Collectives of a group stand in its order on each rank.
    std::vector<uint32_t> last;
    for (const match::Collective& c : matching_.collectives) {
      if (c.index == 0) last.assign(c.members.size(), 0);
      for (size_t m = 0; m < c.members.size(); ++m) {
        const auto [r, n] = c.members[m];
        if (n == kNoNode) continue;
        const uint32_t at = place[r][job_.ranks[r].comm_row[n]];
        if (at < last[m]) return false;
        last[m] = at;
      }
    }
    std::vector<uint32_t> missing(matching_.collectives.size(), 0);
    for (size_t i = 0; i < missing.size(); ++i)
      for (const NodeRef& ref : matching_.collectives[i].members) missing[i] += ref.node != kNoNode;
    std::vector<bool> sent(matching_.messages.size(), false);
    std::vector<uint32_t> at(ranks, 0);  // into comms_
    std::vector<uint32_t> active(ranks);
    for (uint32_t r = 0; r < ranks; ++r) active[r] = ranks - 1 - r;
    std::vector<bool> arrived(ranks, false);  // at the collective before which the rank stands
    while (!active.empty()) {
      const uint32_t r = active.back();
      active.pop_back();
      const Trace& t = job_.ranks[r];
      for (uint32_t& i = at[r]; i < comms_[r].size(); ++i) {
        const NodeId n = comms_[r][i];
        const uint32_t id = matching_.of_comm[r][t.comm_row[n]];
        if (id == trace::kNoRow) continue;
        if (t.type[n] == NodeType::send) {
          sent[id] = true;
          const auto [to, receive] = matching_.messages[id].recv;
          if (receive != kNoNode && to != r && at[to] < comms_[to].size() && comms_[to][at[to]] == receive)
            active.push_back(to);
        } else if (t.type[n] == NodeType::recv) {
          if (!sent[id] && matching_.messages[id].send.node != kNoNode) break;
        } else {
          if (arrived[r]) break;
          arrived[r] = true;
          if (--missing[id] > 0) break;
          for (const NodeRef& ref : matching_.collectives[id].members) {
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
      if (at[r] < comms_[r].size()) return false;
    return true;
  }

  // ---- the merged graph ----------------------------------------------------------------------------------

  uint32_t vertex(uint32_t r, NodeId n) const {
    if (is_matched_collective(r, n))
      for (const NodeRef& ref : collective(r, n).members)
        if (ref.node != kNoNode) return base_[ref.rank] + ref.node;
    return base_[r] + n;
  }
  NodeRef node_of(uint32_t vertex) const {
    const auto r = static_cast<uint32_t>(std::upper_bound(base_.begin(), base_.end(), vertex) - base_.begin() - 1);
    return {r, vertex - base_[r]};
  }

  void prepare() {
    for (const Trace& t : job_.ranks) {
      group_before_.emplace_back(t.comms.size(), kNoNode);
      lane_before_.emplace_back();
    }
    // Collectives of a group that name no lane run in the group's order.
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
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) order_lanes(r);
  }

  /// A lane runs the lowest row of those that are ready. So a node runs before a later row of its lane for certain
  /// if it is ready whenever that one is: that one also waits for all that it waits for.
  void order_lanes(uint32_t r) {
    const Trace& t = job_.ranks[r];
    std::vector<std::vector<NodeId>> lanes(t.lanes.size());
    for (NodeId n = 0; n < t.size(); ++n)
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
  /// After the end of `on`, this much time passes for certain before `node` can begin.
  static Picoseconds lag_between(const Trace& t, NodeId on, NodeId node) {
    Picoseconds lag = 0;
    for (uint32_t e = t.deps.begin[node]; e < t.deps.begin[node + 1]; ++e)
      if (t.deps.node[e] == on) lag = std::max(lag, t.deps.lag_of(e));
    return lag;
  }

  /// Appends what one member of a vertex waits for.
  void waits_of(NodeRef at, std::vector<Step>& steps) const {
    const auto [r, n] = at;
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
  void waits_of(uint32_t vertex, std::vector<Step>& steps) const {
    const NodeRef at = node_of(vertex);
    if (!is_matched_collective(at.rank, at.node)) return waits_of(at, steps);
    for (const NodeRef& ref : collective(at.rank, at.node).members)
      if (ref.node != kNoNode) waits_of(ref, steps);
  }

  /// Depth first, without recursion: each step's vertex is waited for by the one before; the first by the last.
  std::vector<Step> find_circle() {
    state_.assign(base_.back(), kNew);
    struct Frame {
      Step step;  ///< that led here
      size_t steps_begin;
    };
    std::vector<Frame> stack;
    std::vector<Step> steps;  // those of each frame that are still to be taken, one frame behind the other
    for (uint32_t start = 0; start < base_.back(); ++start) {
      if (state_[start] != kNew) continue;
      const auto enter = [&](const Step& step) {
        state_[step.vertex] = kOpen;
        stack.push_back({step, steps.size()});
        waits_of(step.vertex, steps);
      };
      enter({start, {}, {}, Why::dependency});
      while (!stack.empty()) {
        if (steps.size() == stack.back().steps_begin) {
          state_[stack.back().step.vertex] = kClosed;
          stack.pop_back();
          continue;
        }
        const Step step = steps.back();
        steps.pop_back();
        if (state_[step.vertex] == kNew) {
          enter(step);
        } else if (state_[step.vertex] == kOpen) {
          size_t first = stack.size();
          while (stack[--first].step.vertex != step.vertex) {}
          std::vector<Step> circle;
          for (size_t i = first + 1; i < stack.size(); ++i) circle.push_back(stack[i].step);
          circle.push_back(step);
          return circle;
        }
      }
    }
    return {};
  }

  /// The shortest circle through some vertices of this one, communication first. What find_circle() has closed is in
  /// no circle.
  std::vector<Step> shortened(std::vector<Step> best) const {
    std::vector<uint32_t> starts;
    for (const bool comm : {true, false})
      for (const Step& step : best) {
        const NodeRef at = node_of(step.vertex);
        if (trace::is_comm(job_.ranks[at.rank].type[at.node]) == comm && starts.size() < kStarts)
          starts.push_back(step.vertex);
      }
    size_t budget = kSearchBudget;
    std::vector<Step> steps;
    for (const uint32_t start : starts) {
      absl::flat_hash_map<uint32_t, Step> reached_from;  // vertex: the step to it; Step::vertex: where from
      std::vector<uint32_t> queue{start}, next;
      bool closed = false;
      for (size_t length = 0; !queue.empty() && !closed && length + 1 < best.size(); ++length) {
        next.clear();
        for (const uint32_t v : queue) {
          if (closed) break;
          steps.clear();
          waits_of(v, steps);
          if (budget < steps.size() + 1) return best;
          budget -= steps.size() + 1;
          for (Step step : steps) {
            const uint32_t to = step.vertex;
            if (state_[to] == kClosed) continue;
            step.vertex = v;
            if (!reached_from.emplace(to, step).second) continue;
            next.push_back(to);
            closed |= to == start;
          }
        }
        std::swap(queue, next);
      }
      if (!closed) continue;
      std::vector<Step> circle;
      uint32_t to = start;
      do {
        Step step = reached_from.at(to);
        std::swap(step.vertex, to);
        circle.push_back(step);
      } while (to != start);
      std::reverse(circle.begin(), circle.end());
      if (circle.size() < best.size()) best = std::move(circle);
    }
    return best;
  }

  // ---- what is said ----------------------------------------------------------------------------------------

  std::string describe(NodeRef at) const {
    const Trace& t = job_.ranks[at.rank];
    const trace::Comm* c = t.comm(at.node);
    if (is_matched_collective(at.rank, at.node)) {
      const match::Collective& of = collective(at.rank, at.node);
      return fmt::format("node {} ({} {} of group {})", t.id[at.node], trace::name(of.type), of.index,
                         quote(matching_.groups[of.group].name));
    }
    if (c && t.type[at.node] == NodeType::send)
      return fmt::format("node {} (send to rank {}, tag {})", t.id[at.node], c->dst, c->tag);
    if (c && t.type[at.node] == NodeType::recv)
      return fmt::format("node {} (receive from rank {}, tag {})", t.id[at.node], c->src, c->tag);
    return fmt::format("node {} ({})", t.id[at.node], quote(t.name_of(at.node)));
  }

  /// Of the ranks that run both ends of a part of the circle, how many run them in this order, less those that run
  /// them in the other: the circle's culprit is where that is least.
  int64_t support(const match::Collective& before, const match::Collective& after) {
    int64_t votes = 0;
    for (const NodeRef& a : before.members)
      for (const NodeRef& b : after.members)
        if (a.node != kNoNode && b.node != kNoNode && a.rank == b.rank)
          votes += place(a.rank, a.node) < place(b.rank, b.node) ? 1 : -1;
    return votes;
  }
  uint32_t place(uint32_t r, NodeId n) {
    auto [found, added] = places_.try_emplace(r);
    if (added) {
      const std::vector<NodeId> order = trace::topological_order(job_.ranks[r].deps).order;
      found->second.resize(order.size());
      for (uint32_t i = 0; i < order.size(); ++i) found->second[order[i]] = i;
    }
    return found->second[n];
  }

  void report(const std::vector<Step>& circle) {
    // Parts of the circle: from one collective to the next, on one rank or through messages.
    struct Part {
      NodeRef after;  ///< the collective that waits
      int64_t support = INT64_MAX;
    };
    std::vector<Part> parts;
    std::vector<size_t> at_collective;
    for (size_t i = 0; i < circle.size(); ++i)
      if (circle[i].why != Why::message && is_matched_collective(circle[i].after.rank, circle[i].after.node))
        at_collective.push_back(i);
    for (size_t i = 0; i < at_collective.size(); ++i) {
      const NodeRef after = circle[at_collective[i]].after;
      const NodeRef before = circle[at_collective[(i + 1) % at_collective.size()]].after;
      parts.push_back({after, support(collective(before.rank, before.node), collective(after.rank, after.node))});
    }
    NodeRef about{UINT32_MAX, kNoNode};
    const Part* worst = nullptr;
    for (const Part& part : parts)
      if (!worst || part.support < worst->support ||
          (part.support == worst->support && part.after.rank > worst->after.rank))
        worst = &part;
    if (worst) about = worst->after;
    for (const Step& step : circle)  // else the message of the highest rank
      if (!worst && step.why == Why::message && (about.node == kNoNode || step.after.rank > about.rank))
        about = step.after;
    if (about.node == kNoNode) about = circle[0].after;

    std::string path;
    size_t begin = 0;
    while (begin < circle.size() && (circle[begin].after.rank != about.rank || circle[begin].after.node != about.node))
      ++begin;
    for (size_t i = 0; i < std::min(circle.size(), kStepsNamed); ++i) {
      const Step& step = circle[(begin + i) % circle.size()];
      const Trace& t = job_.ranks[step.after.rank];
      path += fmt::format("{}on rank {} {} waits for {}", i ? "; " : "", t.rank, describe(step.after),
                          describe(step.before));
      if (step.why == Why::message) path += fmt::format(" of rank {}", job_.ranks[step.before.rank].rank);
      if (step.why == Why::group) path += ", which is due before it in its group";
      if (step.why == Why::lane) path += ", which always comes before it on its stream or thread";
    }
    if (circle.size() > kStepsNamed) path += "; ...";
    const Trace& t = job_.ranks[about.rank];
    findings_.push_back({"check.deadlock", Severity::error, t.rank, static_cast<int64_t>(t.id[about.node]),
                         fmt::format("ranks wait for each other in a circle of {} steps: {}", circle.size(), path),
                         facts_of(job_, matching_, about.rank, about.node)});
  }

  enum : uint8_t { kNew, kOpen, kClosed };

  const trace::TraceSet& job_;
  const match::Matching& matching_;
  Findings& findings_;
  std::vector<std::vector<NodeId>> comms_;                           ///< per rank: its communication, in order
  std::vector<uint32_t> base_;                                       ///< per rank: its first vertex
  std::vector<std::vector<NodeId>> group_before_;                    ///< per rank and communication
  std::vector<std::vector<std::pair<NodeId, NodeId>>> lane_before_;  ///< per rank: node, and one that runs before it
  std::vector<uint8_t> state_;
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> places_;  ///< per rank: place in its order
};

}  // namespace

void no_deadlock(const trace::TraceSet& job, const match::Matching& matching, Findings& findings) {
  Prover(job, matching, findings).run();
}

}  // namespace chakra::check
