// Whole numbers in formulas.
#pragma once

#include <cstdint>

namespace chakra {

inline double real(int64_t n) { return static_cast<double>(n); }

}  // namespace chakra
