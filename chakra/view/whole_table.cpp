// A table of an answer, whole: for people, and as CSV.
#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "chakra/view/csv.h"
#include "chakra/view/show.h"
#include "chakra/view/shown.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using answer::Answer;
using answer::Info;
using answer::Series;
using answer::Type;

/// Of the rows of a table: what row of its parent each belongs to.
std::vector<size_t> parents_of(const answer::Table& table) {
  std::vector<size_t> parents;
  for (size_t parent = 0; parent + 1 < table.begin.size(); ++parent) parents.resize(table.begin[parent + 1], parent);
  return parents;
}

/// Rows of the table that hangs at this column.
int64_t rows_at(const Answer& answer, const answer::Table& table, const Series& series, size_t row) {
  const answer::Table* const child = answer.table(fmt::format("{}.{}", table.key, series.info().key));
  return child && series.whole(row) ? static_cast<int64_t>(child->begin[row + 1] - child->begin[row]) : 0;
}

std::string heading_of(const Info& info) {
  std::string_view key = info.key.empty() ? "value" : info.key;
  if (info.unit == answer::Unit::ps && key.ends_with("_ps")) key.remove_suffix(3);
  return std::string(key);
}

void add_exactly(std::string& out, const Series& series, size_t row) {
  if (!series.has(row)) return;
  switch (series.info().type) {
    case Type::text: out += csv_cell(series.text(row)); return;
    case Type::real:
      if (std::isfinite(series.real(row))) out += fmt::format("{}", series.real(row));
      return;
    case Type::truth: out += series.whole(row) ? "true" : "false"; return;
    case Type::natural: out += fmt::format("{}", static_cast<uint64_t>(series.whole(row))); return;
    default: out += fmt::format("{}", series.whole(row));
  }
}

}  // namespace

std::string to_text(const Answer& answer, const answer::Table& table) {
  using Kind = result::Table::Kind;
  const std::vector<size_t> parents = parents_of(table);
  result::Table out;
  if (!parents.empty()) out.columns.push_back({"row", Kind::count});
  for (const Series& series : table.columns) {
    const Type type = series.info().type;
    out.columns.push_back(
        {heading_of(series.info()), type == Type::text || type == Type::truth ? Kind::text : Kind::count});
  }
  for (size_t row = 0; row < table.rows; ++row) {
    auto& cells = out.rows.emplace_back();
    if (!parents.empty()) cells.emplace_back(fmt::format("{}", parents[row]));
    for (const Series& series : table.columns) {
      const bool is_place = series.info().type == Type::rows;
      const std::optional<Shown> value = is_place ? std::nullopt : shown_of(series, row);
      cells.emplace_back(is_place ? show_count(rows_at(answer, table, series, row)) : value ? show(*value) : "-");
    }
  }
  return to_text(out, SIZE_MAX);
}

Result<void> write_csv(const answer::Table& table, const std::function<Result<void>(std::string_view piece)>& write) {
  constexpr size_t kPiece = size_t{1} << 16;
  const std::vector<size_t> parents = parents_of(table);
  std::string out;
  const auto line = [&](bool is_child, const auto& add_parent, const auto& add_cell) {
    bool first = !is_child;
    if (is_child) add_parent();
    for (const Series& series : table.columns) {
      if (series.info().type == Type::rows) continue;
      if (!std::exchange(first, false)) out += ',';
      add_cell(series);
    }
    out += '\n';
  };
  const bool is_child = table.parent >= 0;
  line(
      is_child, [&] { out += "row"; },
      [&](const Series& series) { out += csv_cell(series.info().key.empty() ? "value" : series.info().key); });
  for (size_t row = 0; row < table.rows; ++row) {
    line(
        is_child, [&] { out += fmt::format("{}", parents[row]); },
        [&](const Series& series) { add_exactly(out, series, row); });
    if (out.size() < kPiece) continue;
    CHAKRA_TRY(write(out));
    out.clear();
  }
  return write(out);
}

}  // namespace chakra::view
