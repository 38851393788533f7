// When nodes ran, and the chain that ends last.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/analyze/analyze.h"
#include "chakra/work/work.h"

namespace chakra::analyze {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

// `analyze.cycle` (1): a trace whose dependencies form a cycle.
// `analyze.not_measured` (finding): no start times were measured: nodes are taken to run as early as their dependencies
// allow.
// `analyze.partly_measured` (finding): nodes without a measured start in a measured trace: they take no time.
// `analyze.no_time` (finding): a trace without durations, such as a generator's with numbers of operations: simulate
// it.
Result<Schedule> schedule_of(const Trace& t, Findings& findings) {
  CHAKRA_ASSIGN(const std::vector<NodeId> order, trace::running_order(t, "analyze.cycle"));
  Schedule s;
  const auto starts = std::count_if(t.flags.begin(), t.flags.end(), [](uint8_t f) { return f & trace::kHasStart; });
  s.measured = starts > 0;
  s.start.resize(t.size());
  s.end.resize(t.size());
  int64_t without = 0;
  for (const NodeId n : order) {
    if (s.measured && t.has_start(n)) {
      s.start[n] = t.start_ps[n];
      s.end[n] = add_saturated(t.start_ps[n], t.dur_ps[n]);
      continue;
    }
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
      s.start[n] = std::max(s.start[n], add_saturated(s.end[t.deps.node[e]], t.deps.lag_of(e)));
    s.end[n] = s.measured ? s.start[n] : add_saturated(s.start[n], t.dur_ps[n]);
    without += t.type[n] != NodeType::metadata;
  }
  bool any = false;
  for (const NodeId n : t.nodes()) {
    if (s.measured && !t.has_start(n)) continue;
    s.first = any ? std::min(s.first, s.start[n]) : s.start[n];
    s.last = any ? std::max(s.last, s.end[n]) : s.end[n];
    any = true;
  }
  if (t.size() > 0 && s.first == s.last)
    findings.push_back({"analyze.no_time", Severity::warning, t.rank, -1,
                        "no node has a duration, so times are unknown; simulate the job (chakra sim)"});
  else if (!s.measured)
    findings.push_back({"analyze.not_measured", Severity::note, t.rank, -1,
                        "no start times were measured; nodes are taken to run as early as their dependencies allow"});
  else if (without > 0)
    findings.push_back({"analyze.partly_measured", Severity::note, t.rank, -1,
                        fmt::format("{} of {} nodes have no measured start; they take no time here",
                                    show_count(without), show_count(t.size()))});
  Picoseconds sum = s.last;
  for (const Picoseconds time : t.dur_ps) sum = add_saturated(sum, time);
  find_long_times(sum, t.rank, findings);
  return s;
}

// `analyze.time` (finding): times add up to more than can be counted (27 days): sums stay there; also of `info`.
void find_long_times(Picoseconds sum, int64_t rank, Findings& findings) {
  if (sum >= kLongestPs)
    findings.push_back({"analyze.time", Severity::warning, rank, -1,
                        fmt::format("times add up to more than can be counted: sums stay at {}", show_time(sum))});
}

Bound bound_of(const Trace& t, NodeId n) {
  switch (t.type[trace::whole_communication(t, n)]) {
    case NodeType::coll: return Bound::collective;
    case NodeType::send:
    case NodeType::recv: return Bound::message;
    case NodeType::mem_load:
    case NodeType::mem_store: return Bound::memory;
    case NodeType::metadata: return Bound::host;
    default: break;
  }
  const std::string_view name = t.name_of(n);
  if (name == trace::kHostGap) return Bound::host_gap;
  if (name == trace::kSyncRemainder) return Bound::sync_remainder;
  if (name == trace::kInitialCondition) return Bound::initial_condition;
  if (name == trace::kUnrecorded) return Bound::unrecorded;
  if (t.on_cpu(n)) return Bound::host;
  const bool copies = t.on_device(n) && (work::copy_route(name) != work::CopyRoute::none || work::is_memset(name));
  return copies ? Bound::memory : Bound::compute;
}

// `analyze.sum` (1): parts that do not add up to their whole: a defect of the program, to be reported.
Result<void> check_sum(std::string_view what, uint64_t whole, std::span<const uint64_t> parts) {
  unsigned __int128 sum = 0;
  for (const uint64_t part : parts) sum += part;
  if (sum == whole) return {};
  return fail(
      Code::bad_input, "analyze.sum",
      fmt::format("the parts of {} do not add up: they make {} of {}", what, static_cast<uint64_t>(sum), whole));
}

Result<CriticalPath> critical_path(const Trace& t, const Schedule& s) {
  CHAKRA_ASSERT(s.start.size() == t.size() && s.end.size() == t.size());
  CriticalPath path;
  if (t.size() == 0) return path;
  const std::vector<Picoseconds> replay = trace::earliest_ends(t, trace::topological_order(t.deps).order, t.dur_ps);
  path.longest_ps = *std::max_element(replay.begin(), replay.end());
  using Piece = CriticalPath::Piece;
  Picoseconds at = s.last;  // all after this time is accounted for
  const auto piece = [&](Piece p, Picoseconds from) {
    p.start_ps = std::clamp(from, s.first, at);
    p.end_ps = at;
    if (p.end_ps > p.start_ps) path.pieces.push_back(p);
    at = p.start_ps;
  };
  NodeId last{0};
  for (NodeId n{1}; n < t.size(); ++n)
    if (s.end[n] > s.end[last]) last = n;
  NodeId after = last;
  for (const trace::ChainLink& link : trace::latest_chain(t, last, s.end)) {
    const NodeId n = link.node;
    after = n;
    piece({bound_of(t, n), trace::EdgeKind::given, n}, s.start[n]);
    if (link.edge == trace::kNoRow) break;
    const trace::EdgeKind kind = trace::kind_of(t.deps.kind[link.edge]);
    ++path.edges[static_cast<size_t>(kind)];
    const Picoseconds end = s.end[t.deps.node[link.edge]];
    piece({Bound::unexplained, kind, n}, add_saturated(end, t.deps.lag_of(link.edge)));
    piece({Bound::lag, kind, n}, end);
  }
  piece({Bound::start, trace::EdgeKind::given, after}, s.first);
  std::reverse(path.pieces.begin(), path.pieces.end());
  std::vector<uint64_t> parts;
  for (const Piece& p : path.pieces) parts.push_back(static_cast<uint64_t>(p.end_ps - p.start_ps));
  CHAKRA_TRY(check_sum("the critical path", static_cast<uint64_t>(s.last - s.first), parts));
  return path;
}

}  // namespace chakra::analyze
