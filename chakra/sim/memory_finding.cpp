// Whether a rank fits into the memory of its device.
#include <fmt/core.h>

#include "chakra/device/device.h"
#include "chakra/sim/retarget.h"

namespace chakra::sim {

std::optional<Finding> memory_finding(int64_t rank, double bytes, bool fsdp, double device_bytes,
                                      std::string_view device) {
  const double most = device::memory_at_most(bytes, fsdp);
  if (most <= device_bytes) return std::nullopt;
  const std::string needs = fmt::format("rank {} holds {}", rank, show_bytes(bytes));
  const std::string has = fmt::format("and {} has {}", device, show_bytes(device_bytes));
  if (bytes > device_bytes)
    return Finding{"sim.device.memory", Severity::warning, -1, -1,
                   fmt::format("{}, {}: the job does not fit, so its times are those of no real run; 'chakra gen' "
                               "with --stats shows the parts",
                               needs, has)};
  return Finding{"sim.device.memory", Severity::note, -1, -1,
                 fmt::format("{}, up to {} with allocator, context and buffers, {}: the job may not fit", needs,
                             show_bytes(most), has)};
}

}  // namespace chakra::sim
