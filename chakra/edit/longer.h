// Times that grow by a factor, and the attributes with times. Inside edit.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace chakra::edit {

/// A number beyond the range of the type becomes its largest value.
template <class Number>
Number longer(Number value, double by) {
  constexpr double kMost = 9e18;  // below 2^63
  return by == 1 ? value : static_cast<Number>(std::llround(std::min(static_cast<double>(value) * by, kMost)));
}

/// Whether an attribute is in nanoseconds or microseconds.
inline bool is_time(std::string_view attribute) {
  constexpr auto kTimes =
      std::to_array<std::string_view>({"inside_dur_ns", "call_dur_ns", "call_late_ns", "duration_micros"});
  return std::find(kTimes.begin(), kTimes.end(), attribute) != kTimes.end();
}

}  // namespace chakra::edit
