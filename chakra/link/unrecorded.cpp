#include "chakra/link/unrecorded.h"

#include <fmt/core.h>

namespace chakra::link {

UnrecordedWork::UnrecordedWork(const Linking& l) : l_(l) {
  for (const RuntimeCall& call : l.profile().calls)
    if (call.correlation >= 0 && (first_correlation_ < 0 || call.correlation < first_correlation_))
      first_correlation_ = call.correlation;
}

bool UnrecordedWork::precedes(uint32_t op, int64_t explained_ns) const {
  const Profile& p = l_.profile();
  const DeviceOp& x = p.device_ops[op];
  const uint32_t before = l_.device.previous[op], call = l_.device.call_of_op[op];
  if (before == kNone || x.start_ns <= explained_ns + kUnexplainedNs) return false;
  if (call == kNone) return x.correlation >= 0 && x.correlation < first_correlation_;
  return p.calls[call].end_ns() <= p.device_ops[before].end_ns();
}

void UnrecordedWork::report(Linking& l) {
  if (l.report.unrecorded == 0) return;
  l.find(
      "pytorch.device.unrecorded", Severity::warning,
      fmt::format("{} times a queued device operation began later than the records explain, {} in all: "
                  "device work that was not recorded is assumed ({})",
                  show_count(l.report.unrecorded), show_time(l.report.unrecorded_ns * kPsPerNs), trace::kUnrecorded));
}

}  // namespace chakra::link
