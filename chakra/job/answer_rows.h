// Rows that several answers share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// Concatenate two arrays.
template <class Row, size_t A, size_t B>
constexpr std::array<answer::Column<Row>, A + B> joined(const std::array<answer::Column<Row>, A>& a,
                                                        const std::array<answer::Column<Row>, B>& b) {
  std::array<answer::Column<Row>, A + B> all{};
  for (size_t i = 0; i < A; ++i) all[i] = a[i];
  for (size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

/// A time in picoseconds that JSON also has in nanoseconds. `key` must end with _ps.
template <auto Member>
constexpr auto time_column(std::string_view key, std::string_view meaning) {
  return also_ns(answer::column<Member>(key, answer::Unit::ps, meaning));
}
template <class Row, class Get>
constexpr auto time_column(std::string_view key, std::string_view meaning, Get get) {
  return also_ns(answer::column<Row>(key, answer::Unit::ps, meaning, get));
}

/// A column that is present only in rows for which Has{}(row) is true.
template <class Row, class Has, class Get>
constexpr auto column_if(Has, std::string_view key, answer::Unit unit, std::string_view meaning, Get,
                         answer::Missing missing = answer::Missing::left_out) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>;
  return answer::column<Row>(
      key, unit, meaning, [](const Row& row) { return Has{}(row) ? std::optional<Value>(Get{}(row)) : std::nullopt; },
      missing);
}

/// A row of a text table, as a row of an answer.
using TableRow = std::vector<result::Table::Cell>;
/// The cell at a place. T: std::string, int64_t, double, or Table::Cell for a number or a word.
template <size_t Place, class T>
constexpr auto cell(std::string_view key, answer::Unit unit, std::string_view meaning) {
  if constexpr (std::same_as<T, result::Table::Cell>)
    return answer::column<TableRow>(key, unit, meaning, [](const TableRow& row) { return row[Place]; });
  else return answer::column<TableRow>(key, unit, meaning, [](const TableRow& row) { return std::get<T>(row[Place]); });
}
/// A time, or nullopt if the table has a word.
template <size_t Place>
constexpr auto time_cell(std::string_view key, std::string_view meaning) {
  return time_column<TableRow>(key, meaning, [](const TableRow& row) {
    const int64_t* const time = std::get_if<int64_t>(&row[Place]);
    return time ? std::optional(*time) : std::nullopt;
  });
}

/// Lists of plain values.
inline constexpr std::array kNumberRows{
    answer::column<int64_t>("", answer::Unit::count, "the number", [](const int64_t& n) { return n; })};
inline constexpr std::array kIdRows{
    answer::column<int64_t>("", answer::Unit::id, "the number", [](const int64_t& n) { return n; })};
inline constexpr std::array kTextRows{
    answer::column<std::string>("", answer::Unit::none, "the text", [](const std::string& text) { return text; })};
/// Objects whose keys are data: {"data": 12, "comm": 3}.
template <class T>
using ByKey = std::vector<std::pair<std::string, T>>;
template <class T>
constexpr auto by_key(answer::Unit unit) {
  using Row = std::pair<std::string, T>;
  return std::array{answer::column<Row>("", answer::Unit::none, "of what", [](const Row& row) { return row.first; }),
                    answer::column<Row>("", unit, "the value", [](const Row& row) { return row.second; })};
}

/// Rows of `devices`.
inline constexpr std::array kDeviceRows{
    answer::column<&sim::ScaledTime::from>("from", answer::Unit::none,
                                           "the device of the recording; empty where nothing was measured"),
    answer::column<&sim::ScaledTime::to>("to", answer::Unit::none, "the device of the run"),
    answer::column<sim::ScaledTime>(
        "how", answer::Unit::none, "how times came to that device",
        [](const auto& d) { return std::string(sim::kScalings[static_cast<size_t>(d.how)].name); }),
    answer::column<&sim::ScaledTime::nodes>("nodes", answer::Unit::count, "nodes of all ranks"),
    answer::column<&sim::ScaledTime::before_ps>("before_ps", answer::Unit::ps, "their time before"),
    answer::column<&sim::ScaledTime::after_ps>("after_ps", answer::Unit::ps, "their time in the run"),
    answer::column<sim::ScaledTime>(
        "error", answer::Unit::share, "error of the prediction; null where it is not known",
        [](const auto& d) { return d.error() > 0 ? std::optional(d.error()) : std::nullopt; })};

}  // namespace chakra::job
