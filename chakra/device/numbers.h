// Numbers in device and stack files; inside the room.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/device/units.h"

namespace chakra::device {

/// The unit of a number in a file, and the smaller unit that a number above `most` may be in by mistake.
struct FileUnit {
  std::string_view name, small;
  double factor;
  double most = 1e9;  ///< in the file's unit: a million times today's devices
};
inline constexpr FileUnit kTeraOps{"TFLOP/s", "FLOP/s", kTera}, kGigaBytesPerS{"GB/s", "bytes/s", kGiga},
    kGigaBytes{"GB", "bytes", kGiga};

/// Return a number above zero in small units; with `zero`, zero as well. Errors: `tag`.
inline Result<double> number_in(const Spec& value, std::string_view key, const FileUnit& unit, std::string_view tag,
                                bool zero = false) {
  CHAKRA_ASSIGN(const double number, value.number());
  if (number > 0 ? number <= unit.most : zero && number == 0) return number * unit.factor;
  return value.error(std::string(tag),
                     fmt::format("{} is {}; it must be {} and at most {:g} {}{}", quote(key), quote(value.scalar),
                                 zero ? "0 or more" : "above 0", unit.most, unit.name,
                                 number > unit.most ? fmt::format(" (not in {})", unit.small) : ""));
}

/// Return a number from `least` to `most`. Errors: `tag`.
inline Result<double> number_within(const Spec& value, std::string_view key, double least, double most,
                                    std::string_view tag) {
  CHAKRA_ASSIGN(const double number, value.number());
  if (!(number >= least && number <= most))
    return value.error(std::string(tag), fmt::format("{} is {}; it is at least {:g} and at most {:g}", quote(key),
                                                     quote(value.scalar), least, most));
  return number;
}

}  // namespace chakra::device
