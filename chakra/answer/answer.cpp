#include "chakra/answer/answer.h"

#include <algorithm>

namespace chakra::answer {

std::vector<size_t> Table::parents() const {
  std::vector<size_t> rows_of;
  for (size_t row = 0; row + 1 < begin.size(); ++row) rows_of.resize(begin[row + 1], row);
  return rows_of;
}

void Series::reserve(size_t rows) {
  if (info_.type == Type::real) reals_.reserve(rows);
  else if (info_.type == Type::any) cells_.reserve(rows);
  else numbers_.reserve(rows);
}

void Series::add_missing() {
  if (valid_.empty()) valid_.assign(size(), true);
  valid_.push_back(false);
  if (info_.type == Type::any) cells_.emplace_back();
  else if (info_.type == Type::real) reals_.push_back(0);
  else numbers_.push_back(0);
}

void Series::add_text(std::string_view value) {
  if (!texts_) texts_.emplace();
  const bool again = !numbers_.empty() && has(size() - 1) && text(size() - 1) == value;  // often
  add_whole(again ? numbers_.back() : static_cast<int64_t>(texts_->intern(value)));
}

void Series::add(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return add_missing();
  if (info_.type == Type::any) {
    if (!valid_.empty()) valid_.push_back(true);
    cells_.push_back(cell);
  } else if (info_.type == Type::real) {
    add_real(std::get<double>(cell));
  } else if (info_.type == Type::text) {
    add_text(std::get<std::string>(cell));
  } else {
    const bool* const truth = std::get_if<bool>(&cell);
    add_whole(truth ? *truth : std::get<int64_t>(cell));
  }
}

const Series* Table::column(std::string_view name) const {
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const Series& s) { return s.info().key == name; });
  return at == columns.end() ? nullptr : &*at;
}

const Table* Answer::table(std::string_view key) const {
  const auto at = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return t.key == key; });
  return at == tables_.end() || !at->present ? nullptr : &*at;
}

const Value* Answer::value(std::string_view key) const {
  const auto at = std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.key == key; });
  return at == values_.end() || !at->present ? nullptr : &*at;
}

std::string key_of_ns(std::string_view key) {
  std::string of(key);
  const size_t at = of.rfind("_ps");
  CHAKRA_ASSERT(at != std::string::npos);
  of[at + 1] = 'n';
  return of;
}

namespace {

void add_row(const std::string& key, const Info& info, std::vector<SchemaRow>& to) {
  if (info.also_ns) to.push_back({key_of_ns(key), {info.key, Type::real, Unit::ns, info.meaning, info.missing}});
  to.push_back({key, info});
}

void add_rows(const Answer& answer, size_t t, const std::string& key, std::vector<SchemaRow>& to) {
  const Table& table = answer.tables()[t];
  const std::string at = key + (table.is_object() ? "{}" : "[]");
  const bool values = !table.columns.empty() && table.columns.back().info().key.empty();
  const Unit unit = values ? table.columns.back().info().unit : Unit::none;
  to.push_back({at, {{}, Type::rows, unit, table.meaning, Missing::left_out}});
  for (const Series& series : table.columns) {
    const Info& info = series.info();
    if (info.type != Type::rows) {
      if (!info.key.empty()) add_row(at + "." + std::string(info.key), info, to);
      continue;
    }
    for (size_t child = 0; child < answer.tables().size(); ++child)
      if (answer.tables()[child].parent == static_cast<int>(t) &&
          answer.tables()[child].key == table.key + "." + std::string(info.key))
        add_rows(answer, child, at + "." + std::string(info.key), to);
  }
}

}  // namespace

std::vector<SchemaRow> schema_of(const Answer& answer) {
  std::vector<SchemaRow> rows;
  for (const Answer::Part& part : answer.parts())
    if (part.is_table) add_rows(answer, part.index, answer.tables()[part.index].key, rows);
    else add_row(answer.values()[part.index].key, answer.values()[part.index].info, rows);
  return rows;
}

void Builder::add_value(std::string key, const Info& info, Cell cell, bool present) {
  const bool left_out = info.missing == Missing::left_out && std::holds_alternative<std::monostate>(cell);
  answer_.parts_.push_back({false, answer_.values_.size()});
  answer_.values_.push_back({std::move(key), info, std::move(cell), present && !left_out});
}

Table& Builder::add_table(std::string key, std::string_view meaning, size_t rows, bool present) {
  Table& table = answer_.tables_.emplace_back();
  table.key = std::move(key);
  table.meaning = meaning;
  table.rows = rows;
  table.present = present;
  return table;
}

void Builder::table(std::string key, std::string_view meaning, std::vector<Series> columns, bool present, bool detail) {
  Table& to = add_table(std::move(key), meaning, columns.empty() ? 0 : columns[0].size(), present);
  answer_.parts_.push_back({true, answer_.tables_.size() - 1});
  to.detail = detail;
  to.columns = std::move(columns);
  for (const Series& column : to.columns) CHAKRA_ASSERT(column.size() == to.rows);
}

Table& Builder::add_child(std::string_view parent, std::string_view key) {
  const auto at =
      std::find_if(answer_.tables_.begin(), answer_.tables_.end(), [&](const Table& t) { return t.key == parent; });
  CHAKRA_ASSERT(at != answer_.tables_.end());
  const Series* const place = at->column(key);
  CHAKRA_ASSERT(place && place->info().type == Type::rows);
  const bool present = at->present;
  const auto index = static_cast<int>(at - answer_.tables_.begin());
  Table& table = add_table(std::string(parent) + "." + std::string(key), place->info().meaning, 0, present);
  table.parent = index;
  return table;
}

void Builder::findings(std::string key, std::string_view meaning, const Findings& findings, bool present) {
  Table& to = add_table(std::move(key), meaning, findings.size(), present);
  to.findings = findings;
  answer_.parts_.push_back({true, answer_.tables_.size() - 1});
}

Answer Builder::finish(Findings findings) && {
  answer_.findings_ = std::move(findings);
  answer_.has_findings_ = true;
  return std::move(answer_);
}
Answer Builder::finish() && { return std::move(answer_); }

}  // namespace chakra::answer
