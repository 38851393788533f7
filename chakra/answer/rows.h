// Rows of answers that several rooms share: joined columns, times in two units, lists of plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/answer/answer.h"

namespace chakra::answer {

/// Concatenate two arrays.
template <class Row, size_t A, size_t B>
constexpr std::array<Column<Row>, A + B> joined(const std::array<Column<Row>, A>& a,
                                                const std::array<Column<Row>, B>& b) {
  std::array<Column<Row>, A + B> all{};
  for (size_t i = 0; i < A; ++i) all[i] = a[i];
  for (size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

/// A time in picoseconds that JSON also has in nanoseconds. `key` must end with _ps.
template <auto Member>
constexpr auto time_column(std::string_view key, std::string_view meaning) {
  return also_ns(column<Member>(key, Unit::ps, meaning));
}
template <class Row, class Get>
constexpr auto time_column(std::string_view key, std::string_view meaning, Get get) {
  return also_ns(column<Row>(key, Unit::ps, meaning, get));
}

/// A column that is present only in rows for which Has{}(row) is true.
template <class Row, class Has, class Get>
constexpr auto column_if(Has, std::string_view key, Unit unit, std::string_view meaning, Get,
                         Missing missing = Missing::left_out) {
  using Got = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>;
  return column<Row>(
      key, unit, meaning, [](const Row& row) { return Has{}(row) ? std::optional<Got>(Get{}(row)) : std::nullopt; },
      missing);
}

/// Lists of plain values.
inline constexpr std::array kNumberRows{
    column<int64_t>("", Unit::count, "the number", [](const int64_t& n) { return n; })};
inline constexpr std::array kIdRows{column<int64_t>("", Unit::id, "the number", [](const int64_t& n) { return n; })};
inline constexpr std::array kTextRows{
    column<std::string>("", Unit::none, "the text", [](const std::string& text) { return text; })};
/// Objects whose keys are data: {"data": 12, "comm": 3}.
template <class T>
using ByKey = std::vector<std::pair<std::string, T>>;
template <class T>
constexpr auto by_key(Unit unit) {
  using Row = std::pair<std::string, T>;
  return std::array{column<Row>("", Unit::none, "kind", [](const Row& row) { return row.first; }),
                    column<Row>("", unit, "the value", [](const Row& row) { return row.second; })};
}

}  // namespace chakra::answer
