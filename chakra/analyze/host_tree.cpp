#include "chakra/analyze/host_tree.h"

#include <algorithm>
#include <numeric>

namespace chakra::analyze {

using trace::kNoNode;
using trace::NodeId;
using trace::Trace;

NodeId caller_of(const Trace& t, const DeviceWork& work, NodeId n) {
  const auto callers = t.ctrl.of(n);
  return callers.empty() ? kNoNode : work.whole[callers.front()];
}

NodeId launching_operator(const Trace& t, const DeviceWork& work, const DeviceOperation& operation) {
  NodeId caller = caller_of(t, work, operation.node);
  if (caller != kNoNode && !work.is_operator[caller]) caller = caller_of(t, work, caller);
  return caller != kNoNode && work.is_operator[caller] ? caller : kNoNode;
}

LaunchesByThread::LaunchesByThread(const Trace& t, const DeviceWork& work) {
  for (uint32_t i = 0; i < work.operations.size(); ++i)
    if (const uint32_t call = work.operations[i].call;
        call != trace::kNoRow && t.lane[work.calls[call].node] != trace::kNoLane)
      order_.push_back(i);
  const auto key = [&](uint32_t i) {
    const DeviceOperation& operation = work.operations[i];
    const LaunchCall& call = work.calls[operation.call];
    return std::tuple(t.lane[call.node], call.start, operation.start, i);
  };
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (const uint32_t i : order_) launched_.emplace_back(std::get<0>(key(i)), std::get<1>(key(i)));
}

std::span<const uint32_t> LaunchesByThread::between(uint32_t lane, Picoseconds from, Picoseconds until) const {
  const auto first = std::lower_bound(launched_.begin(), launched_.end(), std::pair(lane, from));
  const auto last = std::lower_bound(first, launched_.end(), std::pair(lane, until));
  return std::span(order_).subspan(static_cast<size_t>(first - launched_.begin()), static_cast<size_t>(last - first));
}

}  // namespace chakra::analyze
