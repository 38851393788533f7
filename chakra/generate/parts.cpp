#include "chakra/generate/parts.h"

#include "chakra/job/parts.h"

namespace chakra::generate {

Result<device::Stack> use_device_and_stack(const std::string& device, const std::string& stack,
                                           device::System& system) {
  CHAKRA_ASSIGN(device::Stack software, device::find_or_load_stack(stack.empty() ? kUsualStack : stack));
  if (device.empty()) return software;
  job::DeviceOptions on;
  on.device = device;
  on.stack = stack;
  CHAKRA_TRY(job::use_devices(on, system));
  return software;
}

double memory_of_device(std::optional<double> asked, device::System& system) {
  if (asked && system.target) system.target->memory_bytes = *asked * kGib;
  if (asked) return *asked;
  return system.target && system.target->memory_bytes > 0 ? system.target->memory_bytes / kGib : kUsualDeviceGib;
}

}  // namespace chakra::generate
