// Kernels without a table. The class of a kernel is its bottleneck; the time is the kernel's part of the roofline,
// times the factor of measured kernels of that class. docs/explanation/calibration.md, "Kernels without a table".
#pragma once

#include <cstdint>

#include "chakra/base/base.h"

namespace chakra::device {

struct Device;
struct Work;

/// The bottleneck of a kernel: the peak of its element type, the memory bandwidth, or the fixed time of every kernel.
enum class KernelClass : uint8_t { compute, memory, latency };

/// The time of a class, and its error: exp(mean of abs(ln(predicted /
/// measured))) - 1 over kinds of kernels, each kind predicted from the others.
struct ClassPrice {
  double times = 1;  ///< compute, memory: factor on that part of the roofline
  double error = 0;
};
struct ClassPrices {
  ClassPrice compute, memory;
  double fixed_s = 0;  ///< of a kernel, beside the classes; all of the time of a kernel with almost no work
  double fixed_error = 0;
};

/// Prices of kinds of kernels on the A100 and the H100 (examples/devices): for devices without measured kernels.
extern const ClassPrices kUsualPrices;

/// Return prices from a device's tables. A class with fewer than three measured kinds takes the error
/// of kUsualPrices; a class without measured kinds also takes the time. Cost: O(measured shapes).
ClassPrices prices_of(const Device& device);

/// The time of a kernel without a table. Without work: 0.
struct Price {
  double seconds = 0;
  double error = 0;  ///< as ClassPrice::error; 0: unknown
  KernelClass of = KernelClass::latency;
};
Price price(const Device& device, const Work& work, const ClassPrices& prices);

}  // namespace chakra::device
