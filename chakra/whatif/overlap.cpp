// Whether communication runs beside computation on a rank.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "chakra/whatif/generated.h"
#include "chakra/whatif/nodes.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::EdgeKind;
using trace::NodeId;
using trace::Trace;

struct NewEdge {
  NodeId node, on;
};

/// The dependencies of a trace with further ones.
trace::Edges with_edges(const Trace& t, const std::vector<NewEdge>& more) {
  return trace::make_edges(t.size(), true, [&](const auto& visit) {
    for (const NodeId n : t.nodes())
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
        visit(n, t.deps.node[e], t.deps.kind.empty() ? uint8_t{0} : t.deps.kind[e], t.deps.lag_of(e));
    for (const NewEdge& edge : more)
      visit(edge.node, edge.on, static_cast<uint8_t>(trace::kInferred | static_cast<uint8_t>(EdgeKind::given)), 0);
  });
}

/// Starts and ends of the nodes, every rank for itself.
class Ran {
 public:
  static Result<Ran> of(const sim::SimInput& input) {
    sim::SimInput run = copy_of(input);
    run.node_times = true;
    run.fold = run.decisive_path = false;
    Ran ran;
    CHAKRA_ASSIGN(ran.report_, sim::simulate(std::move(run)));
    return ran;
  }
  const sim::NodeTimes& of(size_t rank) const { return report_.times[report_.ranks[rank].actor]; }

 private:
  sim::SimReport report_;
};

// ---- off ------------------------------------------------------------------------------------------------

/// When the data of each communication node begins to move: when all who take part have come. By rank and row of
/// Trace::comms. The same for all that end together, so that no order that is made of it is a circle.
std::vector<std::vector<Picoseconds>> moving(const sim::SimInput& input, const Ran& ran) {
  std::vector<std::vector<Picoseconds>> begin;
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    const Trace& t = input.job.ranks[r];
    begin.emplace_back(t.comms.size(), 0);
    for (const NodeId n : t.nodes())
      if (trace::is_comm(t.type[n])) begin[r][t.comm_row[n]] = ran.of(r).start[n];
  }
  const auto at = [&](const match::NodeRef& ref) -> Picoseconds& {
    return begin[ref.rank][input.job.ranks[ref.rank].comm_row[ref.node]];
  };
  for (const match::Collective& c : input.matching->collectives) {
    Picoseconds last = 0;
    for (const match::NodeRef& ref : c.members)
      if (ref.node != trace::kNoNode) last = std::max(last, at(ref));
    for (const match::NodeRef& ref : c.members)
      if (ref.node != trace::kNoNode) at(ref) = last;
  }
  for (const match::Message& m : input.matching->messages) {
    if (m.send.node == trace::kNoNode || m.recv.node == trace::kNoNode) continue;
    const Picoseconds both = std::max(at(m.send), at(m.recv));
    if (ran.of(m.send.rank).end[m.send.node] >= both) at(m.send) = both;  // else it left before anyone received it
    at(m.recv) = both;
  }
  return begin;
}

/// What a rank computes before a communication begins to move is done before it, the rest after it.
class Separator {
 public:
  Separator(const Trace& t, const sim::NodeTimes& times, const std::vector<Picoseconds>& moving) {
    const std::vector<NodeId> order = trace::topological_order(t.deps).order;
    const NodeKinds kinds(t);
    std::vector<std::tuple<Picoseconds, size_t, NodeId>> items;
    for (size_t place = 0; place < order.size(); ++place) {
      const NodeId n = order[place];
      const std::optional<Kind> kind = kinds.of(n);
      if (kind && (bit(*kind) & kComputing)) items.emplace_back(times.start[n], place, n);
      else if (trace::is_comm(t.type[n])) items.emplace_back(moving[t.comm_row[n]], place, n);
    }
    std::sort(items.begin(), items.end());
    for (const auto& [time, place, n] : items) trace::is_comm(t.type[n]) ? communicate(n) : compute(n);
  }
  std::vector<NewEdge> edges;

 private:
  static constexpr uint32_t kComputing = bit(Kind::compute) | bit(Kind::copy) | bit(Kind::unrecorded);

  void compute(NodeId n) {
    if (!since_.empty()) {  // the first after some communications
      last_ = std::move(since_);
      since_.clear();
      computed_.clear();
    }
    for (const NodeId c : last_) edges.push_back({n, c});
    computed_.push_back(n);
  }
  void communicate(NodeId n) {
    for (const NodeId c : computed_) edges.push_back({n, c});
    since_.push_back(n);
  }

  std::vector<NodeId> last_;      ///< the communications that what is computed now waits for
  std::vector<NodeId> computed_;  ///< since then
  std::vector<NodeId> since_;     ///< communications since then
};

Reached separate(sim::SimInput& input, const Ran& ran) {
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  const auto begin = moving(input, ran);
  Reached reached;
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    Trace& t = input.job.ranks[r];
    const Separator separator(t, ran.of(r), begin[r]);
    if (separator.edges.empty()) continue;
    t.deps = with_edges(t, separator.edges);
    for (const NodeId n : t.nodes()) {
      if (!trace::is_comm(t.type[n])) continue;
      ++reached.nodes;
      reached.time_ps = add_saturated(reached.time_ps, ran.of(r).end[n] - ran.of(r).start[n]);
    }
  }
  return reached;
}

// ---- on -------------------------------------------------------------------------------------------------

bool is_order(uint8_t kind) {
  const EdgeKind of = trace::kind_of(kind);
  return of == EdgeKind::stream || of == EdgeKind::program;
}

void leave_lane(Trace& t, const sim::NodeTimes& times, NodeId n, Reached& reached) {
  ++reached.nodes;
  reached.time_ps = add_saturated(reached.time_ps, times.end[n] - times.start[n]);
  t.lane.edit(n) = trace::kNoLane;
}

/// Without edges of streams and threads, only the queue of a lane orders communication and computation.
Reached release_lanes(Trace& t, const sim::NodeTimes& times) {
  Reached reached;
  std::vector<char> computes(t.lanes.size(), 0);
  for (const NodeId n : t.nodes())
    if (t.type[n] == trace::NodeType::comp && t.lane[n] != trace::kNoLane) computes[t.lane[n]] = 1;
  for (const NodeId n : t.nodes())
    if (trace::is_comm(t.type[n]) && t.lane[n] != trace::kNoLane && computes[t.lane[n]])
      leave_lane(t, times, n, reached);
  return reached;
}

/// What waits for a communication only because it is next on its stream or thread waits for what was before it instead.
Reached release(Trace& t, const sim::NodeTimes& times) {
  if (std::none_of(t.deps.kind.begin(), t.deps.kind.end(), is_order)) return release_lanes(t, times);
  Reached reached;
  struct Before {
    NodeId on;
    uint8_t kind;
    Picoseconds lag;
  };
  std::vector<std::vector<Before>> before(t.size());  // of communications: what is before them on their stream
  for (const NodeId n : trace::topological_order(t.deps).order) {
    if (!trace::is_comm(t.type[n])) continue;
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
      if (!is_order(t.deps.kind[e])) continue;
      const NodeId on = t.deps.node[e];
      if (!trace::is_comm(t.type[on])) before[n].push_back({on, t.deps.kind[e], t.deps.lag_of(e)});
      else before[n].insert(before[n].end(), before[on].begin(), before[on].end());
    }
  }
  std::vector<char> counted(t.size(), 0);
  trace::Edges deps = trace::make_edges(t.size(), true, [&](const auto& visit) {
    for (const NodeId n : t.nodes())
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
        const NodeId on = t.deps.node[e];
        const bool freed = is_order(t.deps.kind[e]) && trace::is_comm(t.type[on]) && !trace::is_comm(t.type[n]);
        if (!freed) {
          visit(n, on, t.deps.kind[e], t.deps.lag_of(e));
          continue;
        }
        counted[on] = 1;
        for (const Before& b : before[on]) visit(n, b.on, b.kind, b.lag);
      }
  });
  if (std::find(counted.begin(), counted.end(), 1) == counted.end()) return reached;
  t.deps = std::move(deps);
  for (const NodeId n : t.nodes())
    if (counted[n]) leave_lane(t, times, n, reached);  // it holds the stream no longer
  return reached;
}

}  // namespace

Result<bool> parse_overlap(std::string_view value) {
  if (value == "on" || value == "off") return value == "on";
  return fail(Code::usage, "whatif.rule.form", fmt::format("--overlap is on or off, not {}", quote(value)));
}

Result<Reached> change_overlap(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const bool on, parse_overlap(value));
  if (auto made = generate_with("overlap", value, input)) return *std::move(made);
  Reached all;
  if (auto finding = not_generated("overlap", value, input)) all.findings.push_back(*std::move(finding));
  CHAKRA_ASSIGN(const Ran ran, Ran::of(input));
  if (!on) {
    const Reached separated = separate(input, ran);
    all.nodes = separated.nodes, all.time_ps = separated.time_ps;
    return reached_something(std::move(all), "overlap", value, "no rank both computes and communicates");
  }
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    const Reached reached = release(input.job.ranks[r], ran.of(r));
    all.nodes += reached.nodes;
    all.time_ps = add_saturated(all.time_ps, reached.time_ps);
  }
  return reached_something(std::move(all), "overlap", value,
                           "no computation waits for communication by the order of a stream or a thread alone");
}

}  // namespace chakra::whatif
