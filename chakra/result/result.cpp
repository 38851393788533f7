// Tables -> tables of answers.
#include "chakra/result/result.h"

#include <algorithm>

namespace chakra::result {
namespace {

using answer::Missing;
using answer::Type;
using answer::Unit;
using Kind = Table::Kind;

std::pair<Type, Unit> type_of(Kind kind) {
  switch (kind) {
    case Kind::text: return {Type::text, Unit::none};
    case Kind::count: return {Type::whole, Unit::count};
    case Kind::bytes: return {Type::whole, Unit::bytes};
    case Kind::time_ps: return {Type::whole, Unit::ps};
    case Kind::rate_bytes_per_s: return {Type::real, Unit::bytes_per_s};
    case Kind::share: return {Type::real, Unit::share};
    case Kind::id: return {Type::whole, Unit::id};
    case Kind::plain: return {Type::whole, Unit::none};
    case Kind::real: return {Type::real, Unit::none};
    case Kind::rate_ops_per_s: return {Type::real, Unit::flop_per_s};
    case Kind::ops: return {Type::whole, Unit::flop};
    case Kind::ops_per_byte: return {Type::real, Unit::flop_per_byte};
  }
  return {};
}

answer::Cell value_of(const Table::Cell& cell, const answer::Info& info) {
  const auto* const text = std::get_if<std::string>(&cell);
  if (!text)
    return std::holds_alternative<int64_t>(cell) ? answer::Cell(std::get<int64_t>(cell))
                                                 : answer::Cell(std::get<double>(cell));
  if (info.type == Type::text) return *text;
  CHAKRA_ASSERT(info.missing == Missing::unknown ? *text == "unknown"
                                                 : info.missing != Missing::left_out && text->empty());
  return {};
}

}  // namespace

void add_table(answer::Builder& to, std::string key, const Table& table, bool present, std::string_view meaning,
               bool detail) {
  std::vector<answer::Series> columns;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const Table::Column& column = table.columns[c];
    if (column.key.empty()) continue;
    const auto [type, unit] = type_of(column.kind);
    answer::Series& series = columns.emplace_back(answer::Info{column.key, type, unit, column.meaning, column.missing,
                                                               column.kind == Kind::time_ps, column.name});
    series.reserve(table.rows.size());
    for (const auto& row : table.rows) series.add(value_of(row[c], series.info()));
  }
  std::string title(meaning.empty() ? table.title : meaning);
  if (!title.empty()) title.replace(0, 1, to_lower(title.substr(0, 1)));
  to.table(std::move(key), title, std::move(columns), present, detail);
}

void add_tables(answer::Builder& to, const std::string& prefix, const std::vector<NamedTable>& schema,
                const std::vector<NamedTable>& made) {
  for (const NamedTable& none : schema) {
    const auto found = std::find_if(made.begin(), made.end(), [&](const NamedTable& t) { return t.name == none.name; });
    const bool present = found != made.end();
    add_table(to, prefix + none.name, present ? found->table : none.table, present, {}, none.detail);
  }
}

}  // namespace chakra::result
