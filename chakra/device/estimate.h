// Kernels without a table. The class of a kernel is its bottleneck; the time is the kernel's part of the roofline,
// times the factor of measured kernels of that class. docs/explanation/calibration.md, "Kernels without a table".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/device/kernels.h"
#include "chakra/work/work.h"

namespace chakra::device {

struct Device;

using work::NodeWork;

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

/// The keys of KernelTable::classes in device files, by KernelClass.
inline constexpr std::array<std::string_view, 3> kClassKeys{"compute", "memory", "seconds"};
/// Return the medians of a table; with KernelTable::classes without reading the rows. Cost: O(measured shapes).
ClassMedians class_medians(const Device& device, const KernelTable& table);
/// Return whether prices depend on a table: not on variants, and not on kinds with other orders of magnitude.
bool has_classes(const KernelTable& table);
/// Return a checksum of all on which a table's medians depend; `rows`: the checksum of the text of the rows.
std::string class_checksum(const Device& device, const KernelTable& table, std::string_view rows);

/// Return prices from a device's tables. A class with fewer than three measured kinds takes the error
/// of kUsualPrices; a class without measured kinds also takes the time. Cost: O(measured shapes).
ClassPrices prices_of(const Device& device);

/// The time of a kernel without a table. Without work: 0.
struct Price {
  double seconds = 0;
  double error = 0;  ///< as ClassPrice::error; 0: unknown
  KernelClass of = KernelClass::latency;
};
Price price(const Device& device, const NodeWork& work, const ClassPrices& prices);

}  // namespace chakra::device
