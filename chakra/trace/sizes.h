// Show two sizes in one sentence: different sizes get different texts.
#pragma once

#include <string>
#include <utility>

#include "chakra/base/base.h"

namespace chakra {

/// Return "4.0 KiB" and "5.0 KiB"; if rounding hides the difference, all digits: "4,000 B" and "4,032 B".
inline std::pair<std::string, std::string> show_bytes_apart(uint64_t a, uint64_t b) {
  std::pair<std::string, std::string> texts{show_bytes(static_cast<double>(a)), show_bytes(static_cast<double>(b))};
  if (a == b || texts.first != texts.second) return texts;
  const auto exact = [](uint64_t bytes) {
    return bytes > INT64_MAX ? std::to_string(bytes) : show_count(static_cast<int64_t>(bytes));
  };
  return {exact(a) + " B", exact(b) + " B"};
}

}  // namespace chakra
