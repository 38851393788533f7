// Lists as text. fmt::join needs all of fmt's templates, which take half of the time that a source takes to compile.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace chakra {

/// Return the elements of `list`, texts or numbers as fmt writes them, with `separator` between them. Cost: O(text).
template <typename List>
std::string join(const List& list, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& element : list) {
    if (!std::exchange(first, false)) text += separator;
    if constexpr (std::is_convertible_v<decltype(element), std::string_view>) {
      text += std::string_view(element);
    } else {
      text += fmt::format("{}", element);
    }
  }
  return text;
}

}  // namespace chakra
