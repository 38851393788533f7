// Calibration: from measured times to a file that predicts others, and how far it can be trusted.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/table/table.h"

namespace chakra::calibrate {

// ---- devices ------------------------------------------------------------------------------------------------------

struct DeviceOptions {
  std::vector<std::string> files;  ///< CSV, docs/reference/formats/measured_kernels.md
  std::string device;              ///< a name or a device file; "": the device that the files name
};

struct FittedDevice {
  device::Device device;
};

/// Errors: calibrate.device.unknown, and those of device::find_or_load and read_file.
Result<FittedDevice> fit_device(const DeviceOptions& options);

}  // namespace chakra::calibrate
