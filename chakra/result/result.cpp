#include "chakra/result/result.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::result {

std::string show(const Table::Cell& cell, Table::Kind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const int64_t whole =
      std::holds_alternative<int64_t>(cell) ? std::get<int64_t>(cell) : static_cast<int64_t>(std::get<double>(cell));
  const double real =
      std::holds_alternative<double>(cell) ? std::get<double>(cell) : static_cast<double>(std::get<int64_t>(cell));
  switch (kind) {
    case Table::Kind::text:
    case Table::Kind::plain:
    case Table::Kind::real:
      return std::holds_alternative<double>(cell) ? fmt::format("{:.2f}", real) : fmt::format("{}", whole);
    case Table::Kind::count:
    case Table::Kind::id:
    case Table::Kind::rate_ops_per_s: return show_count(whole);
    case Table::Kind::bytes: return show_bytes(real);
    case Table::Kind::time_ps: return show_time(whole);
    case Table::Kind::rate_bytes_per_s: return show_rate(real);
    case Table::Kind::share: return show_percent(real);
  }
  return {};
}

Report::Rows first_rows(const Table& table, size_t most, std::string_view of) {
  const size_t shown = std::min(most, table.rows.size());
  Report::Rows first{{table.title, table.columns, {}}, table.rows.size() - shown, of};
  first.table.rows.assign(table.rows.begin(), table.rows.begin() + static_cast<std::ptrdiff_t>(shown));
  return first;
}

}  // namespace chakra::result
