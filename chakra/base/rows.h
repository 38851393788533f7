// Helpers for tables of named rows: find a row, and list the names in a sentence.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace chakra {

/// Return the row with this `name`, or nullptr. The rows must outlive the pointer. O(rows).
template <class Rows>
auto find_row(const Rows& rows, std::string_view name) -> decltype(&*std::begin(rows)) {
  const auto row = std::find_if(std::begin(rows), std::end(rows), [&](const auto& r) { return r.name == name; });
  return row == std::end(rows) ? nullptr : &*row;
}

/// Return "a, b, c", in the order of the rows.
template <class Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

}  // namespace chakra
