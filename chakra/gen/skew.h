// Experts that tokens choose with unequal frequency.
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/gen/model.h"

namespace chakra::gen {

struct Skew {
  double exponent =
      0;             ///< of Zipf's law: the r-th most popular expert is chosen in proportion to 1 / r^exponent; 0: off
  int64_t seed = 0;  ///< for the order of popularity, which differs in each layer
};

/// Return how many of the choices that one rank's tokens make in a layer fall on the experts of each of
/// `places` ranks. `choices` is tokens x active experts. A token takes an expert once, so an expert gets at
/// most one choice of `active`; the excess goes to the other experts in proportion. The parts are whole numbers
/// and add up to `choices`. Requires that `places` divides the number of experts. Cost: O(experts log experts).
std::vector<int64_t> choices_by_place(const Experts& experts, int64_t choices, int64_t places, const Skew& skew,
                                      int64_t layer);

}  // namespace chakra::gen
