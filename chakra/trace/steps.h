// Which annotations of PyTorch's profiler are steps: "ProfilerStep#7", and not one inside of another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

/// Sorts windows {begin, end} by their beginning and drops those that lie inside of an earlier one: a program may give
/// an annotation of its own the name of a step. Cost: O(n log n).
template <class Window>
void drop_nested(std::vector<Window>& windows) {
  std::stable_sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  size_t kept = 0;
  for (const Window& window : windows)
    if (kept == 0 || window.end > windows[kept - 1].end) windows[kept++] = window;
  windows.resize(kept);
}

}  // namespace chakra::trace
