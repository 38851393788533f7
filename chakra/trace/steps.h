// Which annotations of PyTorch's profiler are steps: "ProfilerStep#7".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::trace {

/// The number of the step that an annotation is; none where its name is not "ProfilerStep#" and digits.
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
