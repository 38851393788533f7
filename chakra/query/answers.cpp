// Tables of answers, and the table of all columns.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/query/column.h"
#include "chakra/query/tables.h"

namespace chakra::query {
namespace {

/// A table whose cells are copied: tables of answers are short beside traces.
struct Copied {
  StringPool texts;
  std::vector<std::vector<Cell>> columns;
};

Cell cell_of(const void* of, size_t column, size_t row) { return static_cast<const Copied*>(of)->columns[column][row]; }

std::string name_of(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

ValueType type_of(answer::Type type) {
  if (type == answer::Type::real) return ValueType::real;
  return type == answer::Type::text || type == answer::Type::any ? ValueType::text : ValueType::whole;
}

/// A text as it is, any other value as JSON.
std::string text_of(const answer::Cell& cell) {
  const auto* const text = std::get_if<std::string>(&cell);
  return text ? *text : answer::json_of(cell, answer::Type::any);
}

Cell cell_of(const answer::Series& series, size_t row, StringPool& texts) {
  if (!series.has(row)) return {};
  switch (series.info().type) {
    case answer::Type::real: return Cell::real(series.real(row));
    case answer::Type::text: return Cell::text(texts.intern(series.text(row)));
    case answer::Type::any: return Cell::text(texts.intern(text_of(series.any(row))));
    case answer::Type::natural: return Cell::whole(static_cast<uint64_t>(series.whole(row)));
    default: return Cell::whole(series.whole(row));
  }
}

/// The columns of a table of an answer that SQL has: no places of nested tables.
template <class Visit>
void each_series(const answer::Table& table, const Visit& visit) {
  for (const answer::Series& series : table.columns)
    if (series.info().type != answer::Type::rows) visit(series);
}

void copy(const answer::Table& from, Copied& to) {
  if (from.parent >= 0) {
    std::vector<Cell>& places = to.columns.emplace_back();
    for (const size_t parent : from.parents()) places.push_back(Cell::whole(parent));
  }
  each_series(from, [&](const answer::Series& series) {
    std::vector<Cell>& cells = to.columns.emplace_back();
    cells.reserve(from.rows);
    for (size_t row = 0; row < from.rows; ++row) cells.push_back(cell_of(series, row, to.texts));
  });
}

}  // namespace

void add_findings(Findings& to, const Findings& more) {
  for (const Finding& one : more) {
    const auto is_it = [&](const Finding& f) {
      return f.tag == one.tag && f.rank == one.rank && f.node == one.node && f.text == one.text;
    };
    if (std::none_of(to.begin(), to.end(), is_it)) to.push_back(one);
  }
}

void add_answer(Tables& to, std::string_view prefix, const answer::Answer& schema, const MakeAnswer& make) {
  for (const answer::Table& table : schema.tables()) {
    if (table.findings) continue;
    std::vector<TableColumn> columns;
    if (table.parent >= 0)
      columns.push_back(
          {"parent", ValueType::whole, "id", "number of the row that the row belongs to, from 0", false, cell_of});
    each_series(table, [&](const answer::Series& series) {
      const answer::Info& info = series.info();
      columns.push_back({info.key.empty() ? "value" : name_of(info.key), type_of(info.type),
                         std::string(answer::kUnitNames[static_cast<size_t>(info.unit)]), std::string(info.meaning),
                         false, cell_of});
    });
    const auto load = [make, key = table.key, findings = to.findings](sqlite::Table& is) -> Result<void> {
      CHAKRA_ASSIGN(const answer::Answer made, make(key));
      add_findings(*findings, made.findings());
      const answer::Table* const from = made.table(key);
      auto copied = std::make_shared<Copied>();
      if (from) copy(*from, *copied);
      is.texts = &copied->texts;
      if (from) is.parts = {{0, from->rows, copied.get()}};
      is.owner = copied;
      return {};
    };
    to.all.push_back(
        {fmt::format("{}_{}", prefix, name_of(table.key)), table.meaning, std::move(columns), false, load});
  }
}

void add_values(Tables& to, std::string_view prefix, const MakeAnswer& make) {
  const auto load = [make, findings = to.findings](sqlite::Table& is) -> Result<void> {
    CHAKRA_ASSIGN(const answer::Answer made, make(""));
    add_findings(*findings, made.findings());
    auto copied = std::make_shared<Copied>();
    copied->columns.resize(6);
    for (const answer::Value& value : made.values()) {
      if (!value.present) continue;
      const answer::Info& info = value.info;
      const auto text = [&](std::string_view word) { return Cell::text(copied->texts.intern(word)); };
      std::array<Cell, 6> row{text(value.key),   {}, {}, {}, text(answer::kUnitNames[static_cast<size_t>(info.unit)]),
                              text(info.meaning)};
      if (const auto* whole = std::get_if<int64_t>(&value.cell))
        row[1] = info.type == answer::Type::natural ? Cell::whole(static_cast<uint64_t>(*whole)) : Cell::whole(*whole);
      else if (const auto* natural = std::get_if<uint64_t>(&value.cell)) row[1] = Cell::whole(*natural);
      else if (const auto* truth = std::get_if<bool>(&value.cell)) row[1] = Cell::whole(int{*truth});
      else if (const auto* real = std::get_if<double>(&value.cell)) row[2] = Cell::real(*real);
      else if (const auto* words = std::get_if<std::string>(&value.cell)) row[3] = text(*words);
      for (size_t c = 0; c < row.size(); ++c) copied->columns[c].push_back(row[c]);
    }
    is.texts = &copied->texts;
    is.parts = {{0, copied->columns[0].size(), copied.get()}};
    is.owner = copied;
    return {};
  };
  to.all.push_back({fmt::format("{}_values", prefix),
                    "values that are in no table",
                    {{"key", ValueType::text, "", "key in the JSON of the answer", true, cell_of},
                     {"whole", ValueType::whole, "", "a whole number, or 1 or 0 for true or false", false, cell_of},
                     {"real", ValueType::real, "", "any other number", false, cell_of},
                     {"text", ValueType::text, "", "a text", false, cell_of},
                     {"unit", ValueType::text, "", "unit of the number", false, cell_of},
                     {"meaning", ValueType::text, "", "meaning of the value", false, cell_of}},
                    false,
                    load});
}

void add_columns(Tables& to) {
  auto copied = std::make_shared<Copied>();
  copied->columns.resize(5);
  size_t rows = 0;
  for (const sqlite::Table& table : to.all)
    for (const TableColumn& column : table.columns) {
      const std::array<std::string_view, 5> cells{table.name, column.name, name(column.type), column.unit,
                                                  column.meaning};
      for (size_t c = 0; c < cells.size(); ++c)
        copied->columns[c].push_back(Cell::text(copied->texts.intern(cells[c])));
      ++rows;
    }
  std::vector<TableColumn> columns;
  for (const auto& [name, meaning] : {std::pair("table_name", "the table"),
                                      {"name", "the column"},
                                      {"type", "INTEGER, REAL or TEXT"},
                                      {"unit", "unit of the values"},
                                      {"meaning", "meaning of the values"}})
    columns.push_back({name, ValueType::text, "", meaning, false, cell_of});
  const auto load = [copied, rows](sqlite::Table& is) -> Result<void> {
    is.owner = copied;
    is.texts = &copied->texts;
    is.parts = {{0, rows, copied.get()}};
    return {};
  };
  to.all.push_back({"columns", "columns of all tables", std::move(columns), false, load});
}

}  // namespace chakra::query
