// Calibration: from measured times to a file that predicts others, and how far it can be trusted.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/table/table.h"

namespace chakra::calibrate {

// ---- devices -------------------------------------------------------------------------------------------------------

struct DeviceOptions {
  std::vector<std::string> files;  ///< CSV, docs/reference/formats/measured_kernels.md
  std::string device;              ///< a name or a device file; "": the device that the files name
};

/// How a kernel's table was made and judged.
struct KernelFit {
  int64_t rows = 0;                  ///< measured
  device::KernelConstants accuracy;  ///< one standard error of each constant, as a share of it
  double extrapolated = 0;           ///< of the blocks' shapes, the share that is marked as extrapolated
  double random_95 = 0;              ///< the error that 95 % of the random third do not exceed
};

struct FittedDevice {
  device::Device device;        ///< with kernels
  std::vector<KernelFit> fits;  ///< of Device::kernels, in the same order
  Findings findings;
};

/// Fits a table for each kernel and element type that the files have, and judges it on shapes that were kept out.
/// Findings: calibrate.device.other (rows name another device), calibrate.device.skipped (rows),
/// calibrate.device.undetermined (constants), calibrate.device.few (too few shapes to judge). Errors:
/// calibrate.device.unknown, calibrate.device.several, calibrate.device.rows, calibrate.csv.*, and those of
/// device::find_or_load and read_file. Cost: O(rows^2) of a kernel; 10,000 rows in 3 s.
Result<FittedDevice> fit_device(const DeviceOptions& options);

/// A row for each kernel: shapes, constants, range, errors.
table::Table kernel_table(const FittedDevice& fitted);

/// The same for programs, with numbers: shares where the table has percents, null where a kernel is not judged.
table::Json to_json(const FittedDevice& fitted);

/// The device file, in the form of docs/reference/formats/device.md.
std::string to_device_file(const device::Device& device);

}  // namespace chakra::calibrate
