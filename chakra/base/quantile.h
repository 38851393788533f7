// The only percentile of this project: linear between the two nearest values, numpy's default
// (R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996, definition 7).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chakra/base/assert.h"

namespace chakra {

/// The place of the quantile `q` among `count` ascending numbers: `part` of the way from the
/// number `below` to the number `above`. Requires count > 0 and q from 0 to 1.
struct QuantilePlace {
  size_t below, above;
  double part;
  QuantilePlace(size_t count, double q) {
    CHAKRA_ASSERT(count > 0 && q >= 0 && q <= 1);
    const double at = q * static_cast<double>(count - 1);
    below = static_cast<size_t>(at);
    above = std::min(below + 1, count - 1);
    part = at - std::floor(at);
  }
};

/// Return the quantile `q` of numbers in a vector, array or span: 0 is the least, 0.5 the median,
/// 1 the most. An empty input gives 0. Requires ascending values and q from 0 to 1.
template <class Numbers>
double quantile(const Numbers& ascending, double q) {
  if (ascending.size() == 0) return 0;
  const QuantilePlace at(ascending.size(), q);
  const auto low = static_cast<double>(ascending[at.below]), high = static_cast<double>(ascending[at.above]);
  return low + (high - low) * at.part;
}

/// Return the same for int64 times, rounded. Only the distance of the two nearest values becomes a
/// floating-point number, so times since 1970 stay exact.
template <class Numbers>
int64_t whole_quantile(const Numbers& ascending, double q) {
  if (ascending.size() == 0) return 0;
  const QuantilePlace at(ascending.size(), q);
  const int64_t low = ascending[at.below], high = ascending[at.above];
  return low + std::llround(static_cast<double>(high - low) * at.part);
}

/// Put the two numbers nearest to the quantile `q` at their places of the ascending order. Cost: linear.
template <class Number>
void select_quantile(std::vector<Number>& numbers, double q) {
  if (numbers.empty()) return;
  const QuantilePlace at(numbers.size(), q);
  const auto below = numbers.begin() + static_cast<std::ptrdiff_t>(at.below);
  std::nth_element(numbers.begin(), below, numbers.end());
  if (at.above > at.below) std::iter_swap(below + 1, std::min_element(below + 1, numbers.end()));
}

/// Return the quantile `q` of numbers in any order. Cost: linear.
inline double quantile_of(std::vector<double> numbers, double q) {
  select_quantile(numbers, q);
  return quantile(numbers, q);
}

/// Return the same for int64 times, rounded.
inline int64_t whole_quantile_of(std::vector<int64_t> numbers, double q) {
  select_quantile(numbers, q);
  return whole_quantile(numbers, q);
}

/// Return the number at a place of the ascending order: an observation, where a mean of two numbers would be wrong. The
/// numbers change their order. Requires place < numbers.size(). Cost: linear.
template <class Number>
Number nth_of(std::vector<Number>& numbers, size_t place) {
  CHAKRA_ASSERT(place < numbers.size());
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(numbers.begin(), at, numbers.end());
  return *at;
}

}  // namespace chakra
