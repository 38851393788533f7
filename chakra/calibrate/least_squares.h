// Least squares of relative errors with few parameters, none of them negative: minimise the sum of
// (prediction / measured - 1)^2. With so few parameters every set of those that are not zero is tried.
#pragma once

#include <array>
#include <cstddef>

#include "chakra/calibrate/calibrate.h"

namespace chakra::calibrate {

inline constexpr size_t kParameters = 4;
using Features = std::array<double, kParameters>;  ///< what a parameter of 1 adds to a prediction

/// What of the samples the solution depends on.
struct Gram {
  std::array<Features, kParameters> products{};
  Features sums{};
  double points = 0;

  void add(const Features& features, double measured);
  Gram minus(const Gram& other) const;
};

struct Solution {
  Features value{}, error{};  ///< standard errors; those of a parameter that is zero are 0
  double residual = 0, points = 0;
};
/// Of equally good sets the one of the earlier parameters. O(2^kParameters).
Solution least_squares(const Gram& gram);
/// The residual with the parameters 0 and 2 alone. O(1).
double least_line(const Gram& gram);

/// Both as one.
FitError together(const FitError& a, const FitError& b);

}  // namespace chakra::calibrate
