#include "chakra/calibrate/calibrate.h"

namespace chakra::calibrate {

Result<FittedDevice> fit_device(const DeviceOptions& options) {
  FittedDevice fitted;
  if (options.device.empty())
    return fail(Code::usage, "calibrate.device.unknown", "which device was measured? --device NAME|FILE");
  CHAKRA_ASSIGN(fitted.device, device::find_or_load(options.device));
  return fitted;
}

}  // namespace chakra::calibrate
