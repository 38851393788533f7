#include "chakra/device/estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "chakra/base/join.h"
#include "chakra/base/number_rows.h"
#include "chakra/device/device.h"

namespace chakra::device {
namespace {

constexpr double kBound = 2;           ///< one part of the roofline bounds a kernel if it is that many times the other
constexpr double kLarge_s = 20e-6;     ///< of the roofline: a kernel that large does not feel what every kernel takes
constexpr double kSmall_s = 1e-6;      ///< likewise: a kernel that small feels nothing else
constexpr double kUsualBytes = 2;      ///< of the elements of measured kernels
constexpr size_t kFewest = 10;         ///< shapes of a class, for a kind to have a say in it
constexpr size_t kFewestForError = 3;  ///< kinds that tell how far apart kinds are

/// Of ratios: between two of them their geometric mean.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : std::sqrt(*middle * *std::max_element(values.begin(), middle));
}

/// measured / roofline of one kind's shapes in each class; of the latency class the seconds themselves.
using Ratios = std::array<std::vector<double>, 3>;

Ratios ratios_of(const Device& device, const KernelTable& table) {
  Ratios ratios;
  const std::span<const double> cells = table.cells();
  const size_t n = table.kind().size();
  for (size_t row = 0; row < cells.size(); row += n + 1) {
    Sizes sizes{};
    std::copy_n(&cells[row], n, sizes.begin());
    const RooflineParts parts = roofline_parts(device, table.kind(), table.type(), sizes);
    const double ops = parts.ops_s, bytes = parts.bytes_s(), larger = std::max(ops, bytes);
    const double seconds = cells[row + n];
    if (larger < kSmall_s) ratios[static_cast<size_t>(KernelClass::latency)].push_back(seconds);
    if (larger < kLarge_s) continue;
    if (ops > kBound * bytes) ratios[static_cast<size_t>(KernelClass::compute)].push_back(seconds / ops);
    else if (bytes > kBound * ops) ratios[static_cast<size_t>(KernelClass::memory)].push_back(seconds / bytes);
  }
  return ratios;
}

/// The median over kinds, each of which counts once, and how far it is from a kind that it does not have.
ClassPrice price_of(const std::vector<double>& kinds, const ClassPrice& usual) {
  if (kinds.empty()) return usual;
  std::vector<double> all = kinds;
  ClassPrice price{median(all), usual.error};
  if (kinds.size() < kFewestForError) return price;
  double sum = 0;
  for (size_t out = 0; out < kinds.size(); ++out) {
    std::vector<double> others = kinds;
    others.erase(others.begin() + static_cast<ptrdiff_t>(out));
    sum += std::abs(std::log(median(others) / kinds[out]));
  }
  price.error = std::exp(sum / static_cast<double>(kinds.size())) - 1;
  return price;
}

}  // namespace

const ClassPrices kUsualPrices{{1.5, 0.35}, {2, 0.7}, 3.5e-6, 0.4};

ClassMedians class_medians(const Device& device, const KernelTable& table) {
  if (table.classes) return *table.classes;
  ClassMedians medians{};
  Ratios ratios = ratios_of(device, table);
  for (size_t c = 0; c < medians.size(); ++c)
    if (ratios[c].size() >= kFewest) medians[c] = median(ratios[c]);
  return medians;
}

bool has_classes(const KernelTable& table) { return !table.kind().is_own && table.name() == table.kind().name; }

std::string class_checksum(const Device& device, const KernelTable& table, std::string_view rows) {
  // The roofline of one shape has the device's rates, the bytes of an element and the kind's formulas.
  const RooflineParts parts = roofline_parts(device, table.kind(), table.type(), {3, 5, 7, 11, 13, 17});
  return text_checksum(fmt::format("{} {} {} {} {} {} {} {}", rows, parts.ops_s, join(parts.tensors_s, " "), kBound,
                                   kLarge_s, kSmall_s, kFewest, table.kind().name));
}

ClassPrices prices_of(const Device& device) {
  std::array<std::vector<double>, 3> kinds;
  for (const KernelTable& table : device.kernels) {
    if (!has_classes(table)) continue;
    const ClassMedians medians = class_medians(device, table);
    for (size_t c = 0; c < kinds.size(); ++c)
      if (medians[c] > 0) kinds[c].push_back(medians[c]);
  }
  const ClassPrice fixed = price_of(kinds[2], {kUsualPrices.fixed_s, kUsualPrices.fixed_error});
  return {price_of(kinds[0], kUsualPrices.compute), price_of(kinds[1], kUsualPrices.memory), fixed.times, fixed.error};
}

Price price(const Device& device, const NodeWork& work, const ClassPrices& prices) {
  if (work.ops == 0 && work.bytes == 0) return {};
  const double most = work.ops > 0 ? peak(device, work.type).ops_per_s : 0;
  const double ops = most > 0 ? prices.compute.times * sustained(device, work.type, 1 / prices.compute.times) *
                                    static_cast<double>(work.ops) / most
                              : 0;
  // What a kernel takes beyond its bytes, it takes for each element; kUsualBytes is what measured elements have.
  const double wider = std::max(1.0, bytes_of(work.type) / kUsualBytes);
  const double bytes = (1 + (prices.memory.times - 1) / wider) * (work.ops == 0 ? device.stack.elementwise_time : 1) *
                       static_cast<double>(work.bytes) / device.memory_bytes_per_s;
  const double larger = std::max(ops, bytes);
  const KernelClass of = larger < prices.fixed_s ? KernelClass::latency
                         : ops >= bytes          ? KernelClass::compute
                                                 : KernelClass::memory;
  const double error = ops >= bytes ? prices.compute.error : prices.memory.error;
  const double seconds = larger + prices.fixed_s;
  return {seconds, (larger * error + prices.fixed_s * prices.fixed_error) / seconds, of};
}

}  // namespace chakra::device
