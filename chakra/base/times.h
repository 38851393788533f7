// A fraction or a multiple of a time.
#pragma once

#include "chakra/base/quantity.h"

namespace chakra {

/// Return factor * time, rounded to nearest; kLongestPs if the result would not fit. Exact if the factor is 1.
inline Picoseconds times(Picoseconds time, double factor) {
  return factor == 1 ? time : picoseconds(static_cast<double>(time) / kPsPerSecond * factor);
}

}  // namespace chakra
