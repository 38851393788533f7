// Shapes whose times are far off those of all shapes beside them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "chakra/base/quantile.h"
#include "chakra/calibrate/device_fit.h"
#include "chakra/work/work.h"

namespace chakra::calibrate {
namespace {

constexpr size_t kBeside = 8;         ///< shapes that say what is expected
constexpr double kFarShape = 1.0986;  ///< ln 3
constexpr double kOverSpread = 6;     ///< over how far the shapes beside it are off each other

/// A shape for its distances to others, and ln(measured / base).
struct Placed {
  work::Sizes octaves{};
  double rest = 0;
};

std::vector<Placed> placed(const KernelData& data, const device::KernelConstants& constants) {
  const work::KernelKind* const kind = work::find_kernel_kind(data.name);
  const device::KernelBase base(*data.device, kind, data.type, constants);
  std::vector<Placed> all;
  for (const device::MeasuredKernel& m : data.measured) {
    Placed& p = all.emplace_back();
    for (size_t i = 0; i < kind->size(); ++i) p.octaves[i] = std::log2(m.sizes[i]);
    p.rest = std::log(m.seconds / base.seconds(m.sizes));
  }
  return all;
}

/// How far a shape is off the median of the nearest others; 0 where those differ among themselves as much.
double off_of_nearest(const std::vector<Placed>& all, size_t row) {
  std::array<std::pair<double, size_t>, kBeside> nearest;
  nearest.fill({std::numeric_limits<double>::infinity(), 0});
  for (size_t other = 0; other < all.size(); ++other) {
    if (other == row) continue;
    double square = 0;
    for (size_t i = 0; i < work::kMostSizes; ++i) {
      const double apart = all[other].octaves[i] - all[row].octaves[i];
      square += apart * apart;
    }
    if (square >= nearest.back().first) continue;
    nearest.back() = {square, other};
    for (size_t i = kBeside - 1; i > 0 && nearest[i] < nearest[i - 1]; --i) std::swap(nearest[i], nearest[i - 1]);
  }
  std::vector<double> rests, apart;
  for (const auto& [square, other] : nearest) rests.push_back(all[other].rest);
  const double middle = quantile_of(rests, 0.5);
  for (const double rest : rests) apart.push_back(std::abs(rest - middle));
  const double off = all[row].rest - middle;
  return std::abs(off) > std::max(kFarShape, kOverSpread * quantile_of(std::move(apart), 0.75)) ? off : 0;
}

}  // namespace

// `calibrate.device.outlying` (warning): shapes that take more than 3 times as long, or as short, as the shapes beside
// them, and are left out
KernelData without_outlying(const KernelData& data, const device::KernelConstants& constants, Findings& findings) {
  if (data.measured.size() < kFewest) return data;
  const std::vector<Placed> all = placed(data, constants);
  std::vector<double> offs(all.size());
  all_in_parallel(all.size(), [&](size_t row) { offs[row] = off_of_nearest(all, row); });
  KernelData kept{data.device, data.name, data.type, {}};
  size_t most = 0, count = 0;
  for (size_t row = 0; row < offs.size(); ++row) {
    if (offs[row] == 0) kept.measured.push_back(data.measured[row]);
    else ++count;
    if (std::abs(offs[row]) > std::abs(offs[most])) most = row;
  }
  if (count == 0) return data;
  const work::KernelKind& kind = *work::find_kernel_kind(data.name);
  std::string shape;
  for (size_t i = 0; i < kind.size(); ++i)
    shape += fmt::format("{}{} = {:g}", i == 0 ? "" : ", ", kind.sizes[i], data.measured[most].sizes[i]);
  findings.push_back(
      {"calibrate.device.outlying", Severity::warning, -1, -1,
       fmt::format("{} in {}: {} of {} shapes differ from the shapes beside them by a factor of more than "
                   "3, that of {} is {:.1f} times as {}; the fit leaves them out",
                   data.name, trace::name(data.type), show_count(static_cast<int64_t>(count)),
                   show_count(static_cast<int64_t>(offs.size())), shape, std::exp(std::abs(offs[most])),
                   offs[most] > 0 ? "slow" : "fast")});
  return kept;
}

}  // namespace chakra::calibrate
