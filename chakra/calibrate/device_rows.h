// Tables of measured kernels: rows of CSV, in the form of this project or in those of public collections.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"

namespace chakra::calibrate {

struct MeasuredRows {
  /// By the rows' name of the device ("" if absent), then by kernel and element type.
  using Kernels = std::map<std::pair<std::string, device::DType>, std::vector<device::MeasuredKernel>>;
  std::map<std::string, Kernels> kernels;
  std::map<std::string, int64_t> skipped;  ///< rows, by the reason
  std::string source;                      ///< names of the files
};

/// Add the rows of a file. Errors: calibrate.csv.parquet, calibrate.csv.columns,
/// calibrate.csv.row, calibrate.csv.value, and those of read_file.
Result<void> read_measured_kernels(const std::string& path, MeasuredRows& rows);

/// Add the measured nodes of a linked trace that name the kernel, the shape
/// and the element type. A node that does a part of its kernel is skipped.
void add_measured_kernels(const trace::Trace& trace, MeasuredRows& rows);

}  // namespace chakra::calibrate
