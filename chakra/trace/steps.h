// Recognize annotations of PyTorch's profiler that are steps: "ProfilerStep#7".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::trace {

/// Return the number of the step of an annotation; std::nullopt unless the name is "ProfilerStep#" and digits.
inline std::optional<int64_t> step_number(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep#";
  if (!name.starts_with(kStep)) return std::nullopt;
  const std::string_view digits = name.substr(kStep.size());
  int64_t number = 0;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (!parse_integer(digits, number)) return std::nullopt;
  return number;
}

}  // namespace chakra::trace
