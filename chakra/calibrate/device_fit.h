// The fit of a kernel's table: constants over the roofline, and the accuracy on held-out measurements.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"

namespace chakra::calibrate {

/// The data of a fit: the shapes of a kernel and element type, each once.
struct KernelData {
  const device::Device* device = nullptr;
  std::string name;
  device::DType type = device::DType::unknown;
  std::vector<device::MeasuredKernel> measured;  ///< by size
};

/// Return the median of the times of each shape, by size.
std::vector<device::MeasuredKernel> medians(std::vector<device::MeasuredKernel> measured);

struct FittedConstants {
  device::KernelConstants constants;
  device::KernelConstants errors;  ///< one standard error of each constant, as a share of the constant
};
/// Return the constants that minimise the sum of 2 (sqrt(1 + (r / s)^2) - 1) over r = ln(base / measured), with
/// s=0.1: like least squares near 0, like absolute values for outliers; plus, for each shape, (0.03 (ln(bytes
/// time) - mean))^2 over the tensors, which decides only if the shapes do not determine the bytes times. The
/// method is Levenberg and Marquardt's, on logarithms of the constants. Steps count only if parts overlap.
FittedConstants fit_constants(const KernelData& data, bool overlap);

/// Return whether overlapping parts predict shapes beyond the fitted ones better than parts that add up. The shapes
/// at either end of each size are held out, and both bases, fitted to the rest, predict the held-out times. False
/// if there are too few shapes. Cost: O(sizes * shapes), and for each size 400 predictions from at most 500 shapes.
bool parts_overlap(const KernelData& data);

/// Fit with the base that parts_overlap() chooses.
FittedConstants fit_constants(const KernelData& data);

/// Leave out the shapes that differ from the nearest shapes by a factor of more than 3, and by far more than those
/// differ among themselves, as measured / base, and name them. Cost: O(shapes^2), on all cores.
KernelData without_outlying(const KernelData& data, const device::KernelConstants& constants, Findings& findings);

/// Return the table of constants fitted to `data`, with the shapes of `data`.
device::KernelTable make_table(const KernelData& data);

/// The errors, exp(mean of abs(ln(predicted / measured))) - 1 and so on, on shapes that the table does not have.
struct Judgement {
  double error = 0, error_95 = 0;
  double extrapolated = 0;                                                 ///< share of the shapes that is marked so
  std::vector<std::pair<device::KernelTable::Prediction, double>> offs{};  ///< with abs(ln(predicted / measured))
};
Judgement judge(const device::KernelTable& table, const std::vector<device::MeasuredKernel>& kept_out);

struct KernelJudgement {
  device::KernelError error;
  double random_95 = 0, extrapolated = 0;
};
/// Fit parts of the data, and judge the fits on the rest. Requires
/// kFewest shapes or more. Cost: O(sizes * shapes^2), on all cores.
KernelJudgement judge_kernel(const KernelData& data);
inline constexpr size_t kFewest = 30;

}  // namespace chakra::calibrate
