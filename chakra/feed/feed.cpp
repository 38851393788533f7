#include "chakra/feed/feed.h"

#include <algorithm>
#include <numeric>

namespace chakra::feed {

using trace::NodeId;

namespace {

Graph graph_of(const trace::Trace& trace, bool control) {
  trace::assert_whole(trace);
  Graph graph{trace.deps, trace.ctrl, {}, {}, {}, {}};
  const auto each = [&](const auto& use) {
    for (const NodeId n : trace.nodes())
      for (uint32_t e = trace.deps.begin[n]; e < trace.deps.begin[n + 1]; ++e)
        use(n, trace.deps.node[e], trace.deps.lag_of(e));
    if (!control) return;
    for (const NodeId n : trace.nodes())
      for (const NodeId caller : trace.ctrl.of(n)) use(n, caller, Picoseconds{0});
  };
  graph.missing.resize(trace.size());
  graph.begin.resize(trace.size() + size_t{1});
  const std::span<uint32_t> missing = graph.missing.edit(), begin = graph.begin.edit();
  each([&](NodeId n, NodeId on, Picoseconds) {
    ++missing[n];
    ++begin[on + 1];
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  graph.waiting.resize(begin.back());
  if (!trace.deps.lag.empty()) graph.lag.resize(begin.back());
  const std::span<NodeId> waiting = graph.waiting.edit();
  const std::span<Picoseconds> lags = graph.lag.edit();
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  each([&](NodeId n, NodeId on, Picoseconds lag) {
    const uint32_t at = next[on]++;
    waiting[at] = n;
    if (lag != 0) lags[at] = lag;
  });
  return graph;
}

Graph find_graph(const trace::Trace& trace, bool control, Graphs* graphs) {
  if (!graphs) return graph_of(trace, control);
  const std::tuple key(control, trace.deps.identity(), trace.ctrl.identity());
  const auto found = graphs->find(key);
  return found != graphs->end() ? found->second : graphs->emplace(key, graph_of(trace, control)).first->second;
}

}  // namespace

Feeder::Feeder(const trace::Trace& trace, bool control, Graphs* graphs)
    : graph_(find_graph(trace, control, graphs)),
      missing_(graph_.missing.begin(), graph_.missing.end()),
      ready_at_(trace.size(), 0),
      remaining_(trace.size()) {
  CHAKRA_ASSERT(missing_.size() == trace.size());
  if (!graphs) graph_.missing = {};
}

void Feeder::start(std::vector<Ready>& ready) {
  for (const NodeId n : ids<NodeId>(missing_.size()))
    if (missing_[n] == 0) ready.push_back({n, 0});
}

void Feeder::done(NodeId node, Picoseconds time, std::vector<Ready>& ready) {
  CHAKRA_ASSERT(node < missing_.size());
  CHAKRA_ASSERT(is_ready(node));
  missing_[node] = kDone;
  --remaining_;
  const size_t first = ready.size();
  for (uint32_t i = graph_.begin[node]; i < graph_.begin[node + 1]; ++i) {
    const NodeId waiter = graph_.waiting[i];
    const Picoseconds lag = graph_.lag.empty() ? 0 : graph_.lag[i];
    ready_at_[waiter] = std::max(ready_at_[waiter], add_saturated(time, lag));
    if (--missing_[waiter] == 0) ready.push_back({waiter, ready_at_[waiter]});
  }
  std::sort(ready.begin() + static_cast<std::ptrdiff_t>(first), ready.end(),
            [](const Ready& a, const Ready& b) { return a.node < b.node; });
}

}  // namespace chakra::feed
