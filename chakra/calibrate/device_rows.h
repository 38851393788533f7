// Measured kernels as tables have them: rows of CSV, in our own form or in those of public collections.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"

namespace chakra::calibrate {

struct MeasuredRows {
  /// By kernel and element type.
  std::map<std::pair<std::string, device::DType>, std::vector<device::MeasuredKernel>> kernels;
  std::set<std::string> devices;           ///< that the rows name
  std::map<std::string, int64_t> skipped;  ///< rows, by the reason
  std::string source;                      ///< names of the files
};

/// Adds the rows of a file. Errors: calibrate.csv.columns, calibrate.csv.row, calibrate.csv.value, and those of
/// read_file.
Result<void> read_measured_kernels(const std::string& path, MeasuredRows& rows);

}  // namespace chakra::calibrate
