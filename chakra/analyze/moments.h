// Streaming count, sum, extremes, mean and deviation of whole numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "chakra/base/base.h"

namespace chakra::analyze {

struct Moments {
  int64_t count = 0;
  int64_t least = 0, largest = 0;  ///< 0 if there are no values
  Picoseconds sum = 0;             ///< of times; saturated

  void add(int64_t value) {
    least = count == 0 ? value : std::min(least, value);
    largest = count == 0 ? value : std::max(largest, value);
    ++count;
    sum = add_saturated(sum, value);
    const double x = static_cast<double>(value), before = x - mean_;
    mean_ += before / static_cast<double>(count);
    squares_ += before * (x - mean_);
  }
  double mean() const { return mean_; }
  /// Return the sample deviation (divided by count - 1), as HolisticTraceAnalysis and pandas; 0 for fewer than two.
  double deviation() const { return count < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count - 1)); }
  Picoseconds mean_ps() const { return std::llround(mean_); }
  Picoseconds deviation_ps() const { return std::llround(deviation()); }

 private:
  double mean_ = 0, squares_ = 0;  // Welford's recurrence
};

}  // namespace chakra::analyze
