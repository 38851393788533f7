// A part of a time, or a multiple of it.
#pragma once

#include "chakra/base/quantity.h"

namespace chakra {

/// factor * time, rounded to nearest; kLongestPs where it would not fit. Exact where the factor is 1.
inline Picoseconds times(Picoseconds time, double factor) {
  return factor == 1 ? time : picoseconds(static_cast<double>(time) / kPsPerSecond * factor);
}

}  // namespace chakra
