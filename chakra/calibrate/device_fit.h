// The fit of a kernel's table: constants over the roofline, and what keeping measurements out shows of it.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"

namespace chakra::calibrate {

/// What is fitted: the shapes of a kernel and element type, each once.
struct KernelData {
  const device::Device* device = nullptr;
  std::string name;
  device::DType type = device::DType::unknown;
  std::vector<device::MeasuredKernel> measured;  ///< by size
};

/// The median of the times of each shape, by size.
std::vector<device::MeasuredKernel> medians(std::vector<device::MeasuredKernel> measured);

struct FittedConstants {
  device::KernelConstants constants;
  device::KernelConstants errors;  ///< one standard error of each, as a share of it
};
/// The constants that minimise the sum of 2 (sqrt(1 + (r / s)^2) - 1) over r = ln(base / measured), s = 0.1: as least
/// squares near 0, as absolute values for outliers; and over the tensors of (0.03 (ln(bytes time) - their mean))^2 for
/// each shape, which decides only where the shapes do not determine them. Levenberg and Marquardt's method on their
/// logarithms. Steps count only where parts overlap.
FittedConstants fit_constants(const KernelData& data, bool overlap);

/// Whether parts that overlap say more of shapes beyond the fitted ones than parts that add up: the shapes at either
/// end of each size are kept out, and both bases fitted to the rest say what they take. False where there are too few.
/// Cost: O(sizes * shapes), and for each size 400 predictions from at most 500 shapes.
bool parts_overlap(const KernelData& data);

/// With the base that parts_overlap chooses.
FittedConstants fit_constants(const KernelData& data);

/// The table of constants fitted to `data` and its shapes.
device::KernelTable make_table(const KernelData& data);

/// exp(mean of abs(ln(predicted / measured))) - 1 and so on, of shapes that the table does not have.
struct Judgement {
  double error = 0, error_95 = 0;
  double extrapolated = 0;                                                 ///< the share of shapes that is marked so
  std::vector<std::pair<device::KernelTable::Prediction, double>> offs{};  ///< with abs(ln(predicted / measured))
};
Judgement judge(const device::KernelTable& table, const std::vector<device::MeasuredKernel>& kept_out);

struct KernelJudgement {
  device::KernelError error;
  double random_95 = 0, extrapolated = 0;
};
/// Fits parts of the data and judges them on the rest. Requires kFewest shapes or more.
/// Cost: O(sizes * shapes^2), on all cores.
KernelJudgement judge_kernel(const KernelData& data);
inline constexpr size_t kFewest = 30;

}  // namespace chakra::calibrate
