// Rule W3b: a stream was made to wait for an event that was recorded long before.
#include "chakra/link/late_events.h"

#include <algorithm>

namespace chakra::link {
namespace {

constexpr int64_t kAfterEventNs = 12'000;  ///< at most so long after the event an operation that waited for it begins
constexpr int kMostLookedAt = 1'000;       ///< of those that ended in that time

/// Whether an operation began so late that neither its launch nor its stream explains it.
bool waited(const Linking& l, uint32_t op) {
  const int64_t start = l.profile().device_ops[op].start_ns;
  const uint32_t before = l.device.previous[op], call = l.device.call_of_op[op];
  if (before != kNone && start - l.profile().device_ops[before].end_ns() <= kUnexplainedNs) return false;
  return call != kNone && start - l.profile().calls[call].end_ns() > kUnexplainedNs;
}

}  // namespace

uint32_t ended_just_before(const Linking& l, uint32_t op, int64_t asked_ns) {
  if (!waited(l, op)) return kNone;
  const std::vector<DeviceOp>& ops = l.profile().device_ops;
  const DeviceOp& x = ops[op];
  auto at = std::upper_bound(l.device.ops_by_end.begin(), l.device.ops_by_end.end(), x.start_ns + kToleranceNs,
                             [&](int64_t t, uint32_t o) { return t < ops[o].end_ns(); });
  for (int looked = 0; at != l.device.ops_by_end.begin() && looked < kMostLookedAt; ++looked) {
    const uint32_t on = *--at;
    if (ops[on].end_ns() < x.start_ns - kAfterEventNs) return kNone;
    const bool same_device = l.profile().streams[ops[on].lane].process == l.profile().streams[x.lane].process;
    if (same_device && ops[on].lane != x.lane && ops[on].start_ns < x.start_ns && l.launched_at(on) < asked_ns)
      return on;
  }
  return kNone;
}

}  // namespace chakra::link
