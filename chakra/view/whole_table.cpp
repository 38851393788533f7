// A table of an answer, whole: for people, and as CSV.
#include <fmt/core.h>

#include <utility>

#include "chakra/view/csv.h"
#include "chakra/view/show.h"
#include "chakra/view/shown.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using answer::Answer;
using answer::Series;
using answer::Type;

/// Rows of the table that hangs at this column.
int64_t rows_at(const Answer& answer, const answer::Table& table, const Series& series, size_t row) {
  const answer::Table* const child = answer.table(fmt::format("{}.{}", table.key, series.info().key));
  return child && series.whole(row) ? static_cast<int64_t>(child->begin[row + 1] - child->begin[row]) : 0;
}

/// Columns without a key: of texts that are keys of an object in JSON, and of values.
std::string_view key_of(const answer::Table& table, const Series& series) {
  if (!series.info().key.empty()) return series.info().key;
  return table.is_object() && &series == &table.columns[0] ? "key" : "value";
}

std::string heading_of(const answer::Table& table, const Series& series) {
  std::string_view key = key_of(table, series);
  if (series.info().unit == answer::Unit::ps && key.ends_with("_ps")) key.remove_suffix(3);
  return std::string(key);
}

/// Findings as the rows of a table.
Result<void> write_findings(const answer::Table& table, const std::vector<size_t>& parents,
                            const std::function<Result<void>(std::string_view piece)>& write) {
  std::string out = table.parent >= 0 ? "row,severity,tag,rank,node,text\n" : "severity,tag,rank,node,text\n";
  const auto number = [](int64_t value) { return value < 0 ? std::string() : fmt::format("{}", value); };
  for (size_t row = 0; row < table.rows; ++row) {
    const Finding& f = (*table.findings)[row];
    if (table.parent >= 0) out += fmt::format("{},", parents[row]);
    out += fmt::format("{},{},{},{},{}\n", chakra::name(f.severity), f.tag, number(f.rank), number(f.node),
                       csv_cell(f.text));
  }
  return write(out);
}

}  // namespace

std::string to_text(const Answer& answer, const answer::Table& table) {
  if (table.findings) return to_text(*table.findings, "");
  const std::vector<size_t> parents = table.parents();
  Grid out;
  if (!parents.empty()) out.columns.push_back({"row"});
  for (const Series& series : table.columns) {
    const Type type = series.info().type;
    const bool text = type == Type::text || type == Type::truth || type == Type::any;
    out.columns.push_back({heading_of(table, series), text});
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
  const std::vector<size_t> parents = table.parents();
  if (table.findings) return write_findings(table, parents, write);
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
      is_child, [&] { out += "row"; }, [&](const Series& series) { out += csv_cell(key_of(table, series)); });
  for (size_t row = 0; row < table.rows; ++row) {
    line(
        is_child, [&] { out += fmt::format("{}", parents[row]); },
        [&](const Series& series) {
          const std::optional<Shown> value = shown_of(series, row);
          if (value && std::holds_alternative<std::string>(value->cell))
            out += csv_cell(std::get<std::string>(value->cell));
          else append_exactly(out, series, row);
        });
    if (out.size() < kPiece) continue;
    CHAKRA_TRY(write(out));
    out.clear();
  }
  return write(out);
}

}  // namespace chakra::view
