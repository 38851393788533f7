// The only percentile of this project: linear between the two nearest values, numpy's default
// (R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996, definition 7).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "chakra/base/assert.h"

namespace chakra {

/// Return the quantile `q` of numbers in a vector, array or span: 0 is the least, 0.5 the median,
/// 1 the most. An empty input gives 0. Requires ascending values and q from 0 to 1.
template <class Numbers>
double quantile(const Numbers& ascending, double q) {
  CHAKRA_ASSERT(q >= 0 && q <= 1);
  if (ascending.size() == 0) return 0;
  const double at = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  const auto low = static_cast<double>(ascending[below]), high = static_cast<double>(ascending[above]);
  return low + (high - low) * (at - std::floor(at));
}

/// Return the same, rounded: for times.
template <class Numbers>
int64_t whole_quantile(const Numbers& ascending, double q) {
  return std::llround(quantile(ascending, q));
}

}  // namespace chakra
