#include "chakra/feed/feed.h"

#include <algorithm>
#include <numeric>

namespace chakra::feed {

using trace::NodeId;

Feeder::Feeder(const trace::Trace& trace, bool control)
    : missing_(trace.size(), 0), ready_at_(trace.size(), 0), begin_(trace.size() + 1, 0), remaining_(trace.size()) {
  trace::assert_whole(trace);
  const auto each = [&](const auto& use) {
    for (NodeId n = 0; n < trace.size(); ++n)
      for (uint32_t e = trace.deps.begin[n]; e < trace.deps.begin[n + 1]; ++e)
        use(n, trace.deps.node[e], trace.deps.lag_of(e));
    if (!control) return;
    for (NodeId n = 0; n < trace.size(); ++n)
      for (const NodeId caller : trace.ctrl.of(n)) use(n, caller, Picoseconds{0});
  };
  each([&](NodeId n, NodeId on, Picoseconds) {
    ++missing_[n];
    ++begin_[on + 1];
  });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  waiting_.resize(begin_.back());
  if (!trace.deps.lag.empty()) lags_.resize(waiting_.size());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  each([&](NodeId n, NodeId on, Picoseconds lag) {
    const uint32_t at = next[on]++;
    waiting_[at] = n;
    if (lag != 0) lags_[at] = lag;
  });
}

void Feeder::start(std::vector<Ready>& ready) {
  for (NodeId n = 0; n < missing_.size(); ++n)
    if (missing_[n] == 0) ready.push_back({n, 0});
}

void Feeder::done(NodeId node, Picoseconds time, std::vector<Ready>& ready) {
  CHAKRA_ASSERT(node < missing_.size());
  CHAKRA_ASSERT(is_ready(node));
  missing_[node] = kDone;
  --remaining_;
  const size_t first = ready.size();
  for (uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) {
    const NodeId waiter = waiting_[i];
    const Picoseconds lag = lags_.empty() ? 0 : lags_[i];
    ready_at_[waiter] = std::max(ready_at_[waiter], add_saturated(time, lag));
    if (--missing_[waiter] == 0) ready.push_back({waiter, ready_at_[waiter]});
  }
  std::sort(ready.begin() + static_cast<std::ptrdiff_t>(first), ready.end(),
            [](const Ready& a, const Ready& b) { return a.node < b.node; });
}

}  // namespace chakra::feed
