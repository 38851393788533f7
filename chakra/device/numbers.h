// Numbers in device and stack files; inside the room.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::device {

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
