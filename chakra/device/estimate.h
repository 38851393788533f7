// Kernels that a device has no table of. Each belongs to a class by what bounds it, and takes as many times its part of
// the roofline as measured kernels of that class take. docs/explanation/calibration.md, "Kernels without a table".
#pragma once

#include <cstdint>

#include "chakra/base/base.h"
#include "chakra/work/work.h"

namespace chakra::device {

struct Device;

using work::NodeWork;

/// What bounds a kernel: the peak of its element type, the memory bandwidth, or what every kernel takes.
enum class KernelClass : uint8_t { compute, memory, latency };

/// What a class takes, and how far off that is: exp(mean of abs(ln(predicted / measured))) - 1 over kinds of kernels,
/// each predicted by the others.
struct ClassPrice {
  double times = 1;  ///< compute, memory: over that part of the roofline
  double error = 0;
};
struct ClassPrices {
  ClassPrice compute, memory;
  double fixed_s = 0;  ///< that a kernel takes beside them; all of the time of a kernel with next to no work
  double fixed_error = 0;
};

/// Of kinds of kernels on the A100 and the H100 (examples/devices): for devices without measured kernels.
extern const ClassPrices kUsualPrices;

/// From a device's tables. A class of which fewer than three kinds were measured takes the error of kUsualPrices, and
/// one of which none was, its time too. Cost: O(measured shapes).
ClassPrices prices_of(const Device& device);

/// What a kernel without a table takes. Without work: nothing.
struct Price {
  double seconds = 0;
  double error = 0;  ///< as ClassPrice::error; 0 where it is not known
  KernelClass of = KernelClass::latency;
};
Price price(const Device& device, const NodeWork& work, const ClassPrices& prices);

}  // namespace chakra::device
