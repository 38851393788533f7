#include "chakra/trace/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "chakra/base/row_map.h"

namespace chakra::trace {

Trace::Trace() = default;
Trace::Trace(const Trace& other) = default;
Trace::Trace(Trace&& other) noexcept = default;
Trace& Trace::operator=(const Trace& other) = default;
Trace& Trace::operator=(Trace&& other) noexcept = default;
Trace::~Trace() = default;

NodeId Builder::add(uint64_t id, StringId name, NodeType type) {
  const NodeId node(trace.size());
  trace.id.push_back(id);
  each_column([&](const auto& row) {
    if (!row.is_attribute()) (trace.*row.column).push_back(row.fill);
  });
  trace.name.edit(node) = name;
  trace.type.edit(node) = type;
  trace.attr_begin.push_back(trace.attrs.position());
  return node;
}

uint32_t Builder::lane(const Lane& lane) {
  const std::tuple key(lane.kind, lane.process, lane.index);
  if (last_lane_ && std::get<0>(*last_lane_) == key) return std::get<1>(*last_lane_);
  const auto [found, added] = lanes_.try_emplace(key, static_cast<uint32_t>(trace.lanes.size()));
  if (added) trace.lanes.push_back(lane);
  last_lane_ = {key, found->second};
  return found->second;
}

Comm& Builder::comm(NodeId node) {
  uint32_t& row = trace.comm_row.edit(node);
  if (row == kNoRow) {
    row = static_cast<uint32_t>(trace.comms.size());
    trace.comms.emplace_back();
  }
  return trace.comms.edit(row);
}

/// A node that lists the same edge again and again has one defect.
void Builder::note(const Defect& defect) {
  if (trace.defects.empty() || trace.defects.back() != defect) trace.defects.push_back(defect);
}

void Builder::resolve_ids() {
  if (trace.id.ascend() && deps_by_id_.empty() && ctrls_by_id_.empty() && parts_by_id_.empty()) return;
  const std::span<const uint64_t> listed = trace.id.listed();
  RowMap rows(listed, [](uint64_t id) { return std::optional(id); });
  for (const NodeId n : ids<NodeId>(listed.size())) {
    uint32_t& first = rows[listed[n]];
    if (first != RowMap::kNoRow) trace.defects.push_back({Defect::Kind::duplicate_id, n, listed[n]});
    else first = n;
  }
  const auto row_of = [&](uint64_t id) -> NodeId {
    if (!listed.empty()) return NodeId(rows.find(id));  // no row is kNoNode
    const size_t row = trace.id.find(id);
    return row == trace.size() ? kNoNode : NodeId(row);
  };

  const auto resolve = [&](EdgeList& from, EdgeList& to, Defect::Kind missing) {
    bool whole = true;
    const std::span<uint64_t> on = from.on.edit();
    for (size_t e = 0; e < on.size(); ++e) {
      const NodeId row = row_of(on[e]);
      if (row == kNoNode) note({missing, from.node[e], on[e]}), whole = false;
      on[e] = row;
    }
    if (whole && to.empty()) return std::swap(from, to);
    to.reserve(from.node.size());
    from.for_each([&](NodeId node, uint64_t row, uint8_t kind, Picoseconds lag) {
      if (row != kNoNode) to.add(node, row, kind, lag);
    });
    from = {};
  };
  resolve(deps_by_id_, deps_, Defect::Kind::dangling_dep);
  resolve(ctrls_by_id_, ctrls_, Defect::Kind::dangling_ctrl);
  parts_by_id_.for_each([&](NodeId node, uint64_t id, uint8_t, Picoseconds) {
    if (const NodeId row = row_of(id); row != kNoNode) trace.part_of.edit(node) = row;
  });
}

Trace Builder::finish() && {
  trace.attr_begin.push_back(trace.attrs.position());
  each_column([&](const auto& row) {
    if (auto& column = trace.*row.column; row.is_attribute() && !column.empty()) column.resize(trace.size(), row.fill);
  });
  resolve_ids();
  const auto handed_out = [](const EdgeList& list, bool to_itself) {
    return [&list, to_itself](const auto& visit) {
      list.for_each([&](NodeId node, uint64_t on, uint8_t kind, Picoseconds lag) {
        if (to_itself || node != on) visit(node, NodeId(on), kind, lag);
      });
    };
  };
  deps_.for_each([&](NodeId node, uint64_t on, uint8_t, Picoseconds) {
    if (node == on) note({Defect::Kind::self_dep, node, trace.id[node]});
  });
  trace.deps = make_edges(trace.size(), true, handed_out(deps_, false));
  trace.ctrl = make_edges(trace.size(), false, handed_out(ctrls_, true));
  assert_whole(trace);
  return std::move(trace);
}

const Trace* TraceSet::find(int64_t rank) const {
  const auto found =
      std::lower_bound(ranks.begin(), ranks.end(), rank, [](const Trace& trace, int64_t r) { return trace.rank < r; });
  return found != ranks.end() && found->rank == rank ? &*found : nullptr;
}

Edges reversed(const Edges& edges) {
  Edges out;
  const size_t nodes = edges.begin.size() - 1;
  out.begin.assign(nodes + 1, 0);
  const std::span<uint32_t> begin = out.begin.edit();
  for (const NodeId on : edges.node) ++begin[on + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  out.node.resize(edges.node.size());
  const std::span<NodeId> waiting = out.node.edit();
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  for (const NodeId n : ids<NodeId>(nodes))
    for (const NodeId on : edges.of(n)) waiting[next[on]++] = n;
  return out;
}

void each_rank(const TraceSet& job, const std::function<void(RankIndex)>& work) {
  constexpr size_t kLarge = 50'000;  // nodes: below, waking other threads takes longer than the work
  size_t nodes = 0;
  for (const Trace& t : job.ranks) nodes += t.size();
  const auto work_on = [&](size_t r) { work(RankIndex(r)); };
  if (nodes >= kLarge) return all_in_parallel(job.ranks.size(), work_on);
  for (size_t r = 0; r < job.ranks.size(); ++r) work_on(r);
}

Order topological_order(const Edges& edges) {
  const auto nodes = static_cast<uint32_t>(edges.begin.size() - 1);
  assert_whole(edges, nodes);
  Order result;
  result.order.reserve(nodes);

  bool backward_only = true;  // rows already stand in order, as in what we write
  for (NodeId n{0}; n < nodes && backward_only; ++n)
    for (const NodeId on : edges.of(n)) backward_only &= on < n;
  if (backward_only) {
    result.order.resize(nodes);
    std::iota(result.order.begin(), result.order.end(), NodeId(0));
    return result;
  }

  const Edges waiting = reversed(edges);
  std::vector<uint32_t> missing(nodes);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (const NodeId n : ids<NodeId>(nodes)) {
    missing[n] = static_cast<uint32_t>(edges.of(n).size());
    if (missing[n] == 0) ready.push(n);
  }
  while (!ready.empty()) {
    const NodeId n = ready.top();
    ready.pop();
    result.order.push_back(n);
    for (const NodeId child : waiting.of(n))
      if (--missing[child] == 0) ready.push(child);
  }
  if (result.order.size() == nodes) return result;

  // Every node left waits for another one left: walking from one to the next must come round.
  NodeId n{0};
  while (missing[n] == 0) ++n;
  std::vector<NodeId> path;
  std::vector<uint32_t> seen_at(nodes, UINT32_MAX);
  while (seen_at[n] == UINT32_MAX) {
    seen_at[n] = static_cast<uint32_t>(path.size());
    path.push_back(n);
    for (const NodeId on : edges.of(n))
      if (missing[on] != 0) {
        n = on;
        break;
      }
  }
  result.cycle.assign(path.begin() + seen_at[n], path.end());
  return result;
}

Result<std::vector<NodeId>> running_order(const Trace& trace, std::string_view tag) {
  for (const Defect& defect : trace.defects)
    if (defect.kind == Defect::Kind::self_dep)
      return fail(Code::bad_input, std::string(tag), fmt::format("node {} waits for itself", trace.id[defect.node]),
                  {trace.file});
  Order found = topological_order(trace.deps);
  if (!found.cycle.empty())
    return fail(Code::bad_input, std::string(tag),
                fmt::format("the dependencies of node {} form a cycle", trace.id[found.cycle[0]]), {trace.file});
  return std::move(found.order);
}

std::vector<Picoseconds> earliest_ends(const Trace& trace, std::span<const NodeId> order,
                                       std::span<const Picoseconds> durations) {
  CHAKRA_ASSERT(order.size() == trace.size());
  CHAKRA_ASSERT(durations.size() == trace.size());
  std::vector<Picoseconds> end(trace.size());
  for (const NodeId n : order) {
    Picoseconds start = 0;
    for (uint32_t e = trace.deps.begin[n]; e < trace.deps.begin[n + 1]; ++e)
      start = std::max(start, add_saturated(end[trace.deps.node[e]], trace.deps.lag_of(e)));
    end[n] = add_saturated(start, durations[n]);
  }
  return end;
}

std::vector<ChainLink> latest_chain(const Trace& trace, NodeId from, std::span<const Picoseconds> ends) {
  CHAKRA_ASSERT(from < trace.size());
  CHAKRA_ASSERT(ends.size() == trace.size());
  std::vector<ChainLink> chain{{from}};
  for (;;) {
    CHAKRA_ASSERT(chain.size() <= trace.size());  // else the dependencies have a cycle
    const NodeId n = chain.back().node;
    uint32_t best = kNoRow;
    Picoseconds latest = 0;
    for (uint32_t e = trace.deps.begin[n]; e < trace.deps.begin[n + 1]; ++e) {
      const Picoseconds end = add_saturated(ends[trace.deps.node[e]], trace.deps.lag_of(e));
      if (best == kNoRow || end > latest) best = e, latest = end;
    }
    if (best == kNoRow) return chain;
    chain.back().edge = best;
    chain.push_back({trace.deps.node[best]});
  }
}

std::vector<Picoseconds> inclusive_ends(const Trace& trace) {
  assert_whole(trace);
  std::vector<Picoseconds> end(trace.size(), 0);
  for (const NodeId n : trace.nodes())
    if (trace.has_start(n)) end[n] = add_saturated(trace.start_ps[n], trace.dur_ps[n]);
  const auto raise = [&](NodeId caller, NodeId n) {
    if (caller < n && trace.has_start(caller) && trace.has_start(n) && trace.lane[caller] == trace.lane[n])
      end[caller] = std::max(end[caller], end[n]);
  };
  for (NodeId n(trace.size()); n-- > 0;) {  // callers stand before what they call
    if (trace.part_of[n] != kNoNode) raise(trace.part_of[n], n);
    for (const NodeId caller : trace.ctrl.of(n)) raise(caller, n);
  }
  return end;
}

std::vector<CommSpan> communication_spans(const Trace& trace) {
  assert_whole(trace);
  std::vector<CommSpan> spans(trace.comms.size());
  for (const NodeId n : trace.nodes())
    if (is_comm(trace.type[n]) && trace.comm_row[n] != kNoRow) {
      const Picoseconds start = trace.has_start(n) ? trace.start_ps[n] : 0;
      spans[trace.comm_row[n]] = {start, add_saturated(start, trace.dur_ps[n]), trace.has_start(n)};
    }
  for (const NodeId n : trace.nodes()) {
    const NodeId whole = whole_communication(trace, n);
    if (whole == n || trace.comm_row[whole] == kNoRow || !trace.has_start(n) || !trace.has_start(whole)) continue;
    CommSpan& span = spans[trace.comm_row[whole]];
    span.start = std::min(span.start, trace.start_ps[n]);
    span.end = std::max(span.end, add_saturated(trace.start_ps[n], trace.dur_ps[n]));
  }
  return spans;
}

std::vector<NodeId> shown_nodes(const Trace& trace) {
  assert_whole(trace);
  std::vector<NodeId> shown(trace.size());
  std::iota(shown.begin(), shown.end(), NodeId(0));
  const StringId gap = trace.strings.find(kHostGap);
  for (NodeId n(trace.size()); n-- > 0;) {
    if (trace.part_of[n] != kNoNode) shown[n] = trace.part_of[n];
    if (gap == 0 || trace.name[n] == gap) continue;
    for (uint32_t e = trace.deps.begin[n]; e < trace.deps.begin[n + 1]; ++e)
      if (kind_of(trace.deps.kind[e]) == EdgeKind::program && trace.name[trace.deps.node[e]] == gap)
        shown[trace.deps.node[e]] = shown[n];
  }
  return shown;
}

bool parse_split(std::string_view text, std::vector<uint64_t>& split) {
  constexpr size_t kMost = 1 << 20;
  const auto trim = [](std::string_view& t) {
    while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
    while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
  };
  split.clear();
  trim(text);
  if (text.starts_with('[') && text.ends_with(']') && text.size() >= 2) text = text.substr(1, text.size() - 2);
  while (true) {
    const size_t comma = text.find(',');
    std::string_view number = text.substr(0, comma);
    trim(number);
    uint64_t value = 0;
    if (!parse_unsigned(number, value) || value > UINT64_MAX / kMost || split.size() >= kMost) return false;
    split.push_back(value);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace chakra::trace
