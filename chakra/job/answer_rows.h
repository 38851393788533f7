// Rows that several answers share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/answer/rows.h"
#include "chakra/result/result.h"

namespace chakra::job {

using answer::by_key;
using answer::ByKey;
using answer::column_if;
using answer::joined;
using answer::kIdRows;
using answer::kNumberRows;
using answer::kTextRows;
using answer::time_column;

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

}  // namespace chakra::job
