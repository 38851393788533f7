// Least squares of relative errors with few parameters, all non-negative: minimise the sum of
// (prediction / measured - 1)^2. With so few parameters, every set of non-zero parameters is tried.
#pragma once

#include <array>
#include <cstddef>

#include "chakra/calibrate/calibrate.h"

namespace chakra::calibrate {

inline constexpr size_t kParameters = 4;
using Features = std::array<double, kParameters>;  ///< contribution of a parameter of 1 to a prediction

/// The sums over samples that determine the solution.
struct Gram {
  std::array<Features, kParameters> products{};
  Features sums{};
  double points = 0;

  void add(const Features& features, double measured);
  Gram minus(const Gram& other) const;
};

struct Solution {
  Features value{}, error{};  ///< standard errors; 0 for a parameter that is zero
  double residual = 0, points = 0;
};
/// Return the solution; of equally good sets, the one of the earlier parameters. O(2^kParameters).
Solution least_squares(const Gram& gram);
/// Return the residual with the parameters 0 and 2 alone. O(1).
double least_line(const Gram& gram);

/// Combine both into one error.
FitError together(const FitError& a, const FitError& b);

}  // namespace chakra::calibrate
