#include "chakra/view/shown.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "chakra/base/join.h"
#include "chakra/view/template.h"

namespace chakra::view {
namespace {

using answer::Series;
using answer::Type;
using answer::Unit;

std::string show_operations(double ops, std::string_view unit) {
  constexpr std::array<std::pair<double, char>, 6> kSizes{
      {{1e18, 'E'}, {1e15, 'P'}, {1e12, 'T'}, {1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}}};
  for (const auto& [size, letter] : kSizes)
    if (std::abs(ops) >= size) return fmt::format("{:.4g} {}{}", ops / size, letter, unit);
  return fmt::format("{:.4g} {}", ops, unit);
}

std::string show_number(const Shown& value) {
  const double number = number_of(value);
  const int64_t* const whole = std::get_if<int64_t>(&value.cell);
  switch (value.unit) {
    case Unit::ps: return show_time(whole ? *whole : std::llround(number));
    case Unit::ns: return show_time(std::llround(number * static_cast<double>(kPsPerNs)));
    case Unit::bytes: return show_bytes(number);
    case Unit::bytes_per_s: return show_rate(number);
    case Unit::flop: return show_operations(number, "FLOP");
    case Unit::flop_per_s: return show_operations(number, "FLOP/s");
    case Unit::flop_per_byte: return fmt::format("{:.4g} FLOP/B", number);
    case Unit::share: return show_percent(number);
    case Unit::percent: return show_percent(number / 100);
    default: break;
  }
  if (const uint64_t* natural = std::get_if<uint64_t>(&value.cell)) return fmt::format("{}", *natural);
  if (!whole) return fmt::format("{:.4g}", number);
  if (value.type == Type::natural && *whole < 0) return fmt::format("{}", static_cast<uint64_t>(*whole));
  return value.unit == Unit::id ? fmt::format("{}", *whole) : show_count(*whole);
}

/// "3.10 % to 4.20 %": the least and the most of the cells of a column that are not 0.
std::optional<std::string> show_range(const Series& series) {
  std::optional<Shown> least, most;
  for (size_t row = 0; row < series.size(); ++row) {
    const std::optional<Shown> value = shown_of(series, row);
    if (!value || number_of(*value) == 0) continue;
    if (!least || number_of(*value) < number_of(*least)) least = value;
    if (!most || number_of(*value) > number_of(*most)) most = value;
  }
  if (!least) return std::nullopt;
  const std::string from = show(*least), to = show(*most);
  return from == to ? to : fmt::format("{} to {}", from, to);
}

/// The texts of a column, each once, in order of the alphabet: of rows that have the other column.
std::optional<std::string> show_list(const Series& series, const Series* with) {
  std::vector<std::string> texts;
  for (size_t row = 0; row < series.size(); ++row)
    if (const auto value = shown_of(series, row); value && (!with || shown_of(*with, row)))
      texts.push_back(show(*value));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  if (texts.empty()) return std::nullopt;
  return join(texts, ", ");
}

/// "data 12, comm 3": the cells of each row. Shares of 0 are left out.
std::string show_rows(const Rows& rows) {
  std::string out;
  for (size_t row = rows.begin; row < rows.end; ++row) {
    std::string cells;
    for (const Series& series : rows.table->columns) {
      const std::optional<Shown> value = shown_of(series, row);
      const bool none = value && rows.table->is_object() && value->unit == Unit::share && number_of(*value) == 0;
      if (none) cells.clear();
      else if (value) cells += fmt::format("{}{}", cells.empty() ? "" : " ", show(*value));
    }
    if (!cells.empty()) out += fmt::format("{}{}", out.empty() ? "" : ", ", cells);
  }
  return out;
}

bool is_so(const Shown& value, std::string_view equals) {
  const std::string* const text = std::get_if<std::string>(&value.cell);
  if (!equals.empty()) return show(value) == equals;
  return text ? !text->empty() : number_of(value) != 0;
}

}  // namespace

std::optional<Shown> shown_of(const answer::Info& info, answer::Cell cell) {
  if (std::holds_alternative<std::monostate>(cell)) return std::nullopt;
  if (const double* real = std::get_if<double>(&cell); real && !std::isfinite(*real)) return std::nullopt;
  return Shown{info.type, info.unit, std::move(cell)};
}

std::optional<Shown> shown_of(const Series& series, size_t row) {
  if (!series.has(row)) return std::nullopt;
  switch (series.info().type) {
    case Type::real: return shown_of(series.info(), series.real(row));
    case Type::text: return shown_of(series.info(), std::string(series.text(row)));
    case Type::truth: return shown_of(series.info(), series.whole(row) != 0);
    case Type::any: return shown_of(series.info(), series.any(row));
    default: return shown_of(series.info(), series.whole(row));
  }
}

double number_of(const Shown& value) {
  if (const double* real = std::get_if<double>(&value.cell)) return *real;
  if (const bool* truth = std::get_if<bool>(&value.cell)) return *truth ? 1 : 0;
  if (const uint64_t* natural = std::get_if<uint64_t>(&value.cell)) return static_cast<double>(*natural);
  const int64_t* const whole = std::get_if<int64_t>(&value.cell);
  if (!whole) return 0;
  return value.type == Type::natural ? static_cast<double>(static_cast<uint64_t>(*whole)) : static_cast<double>(*whole);
}

std::string show(const Shown& value, bool sign) {
  if (const std::string* text = std::get_if<std::string>(&value.cell)) return *text;
  if (const bool* truth = std::get_if<bool>(&value.cell)) return *truth ? "yes" : "no";
  const bool of_share = value.unit == Unit::share || value.unit == Unit::percent;
  const double number = number_of(value);
  return (sign && (number > 0 || (of_share && !std::signbit(number))) ? "+" : "") + show_number(value);
}

void append_exactly(std::string& out, const Series& series, size_t row) {
  const std::optional<Shown> value = shown_of(series, row);
  if (!value) return;
  if (const std::string* text = std::get_if<std::string>(&value->cell)) out += *text;
  else if (const bool* truth = std::get_if<bool>(&value->cell)) out += *truth ? "true" : "false";
  else if (const double* real = std::get_if<double>(&value->cell)) out += fmt::format("{}", *real);
  else if (const uint64_t* natural = std::get_if<uint64_t>(&value->cell)) out += fmt::format("{}", *natural);
  else if (value->type == Type::natural)
    out += fmt::format("{}", static_cast<uint64_t>(std::get<int64_t>(value->cell)));
  else out += fmt::format("{}", std::get<int64_t>(value->cell));
}

std::optional<Shown> Scope::find(std::string_view key) const {
  if (key == "subject") return Shown{Type::text, Unit::none, std::string(subject)};
  const answer::Table* of = key.starts_with('.') ? nullptr : table;
  for (size_t at = row; of; of = of->parent < 0 ? nullptr : &answer.tables()[static_cast<size_t>(of->parent)]) {
    if (const Series* series = of->column(key)) return shown_of(*series, at);
    at = static_cast<size_t>(std::upper_bound(of->begin.begin(), of->begin.end(), at) - of->begin.begin()) - 1;
  }
  if (key.starts_with('.')) key.remove_prefix(1);
  const answer::Value* value = prefix.empty() ? nullptr : answer.value(std::string(prefix).append(key));
  if (!value) value = answer.value(key);
  return value ? shown_of(value->info, value->cell) : std::nullopt;
}

Rows Scope::rows_of(std::string_view key) const {
  if (table)
    if (const auto* const child = answer.table(fmt::format("{}.{}", table->key, key)); child && child->parent >= 0)
      return {child, child->begin[row], child->begin[row + 1]};
  const answer::Table* const found = answer.table(key);
  return found ? Rows{found, 0, found->rows} : Rows{};
}

std::optional<std::string> Scope::text(std::string_view reference) const {
  const Reference of = reference_of(reference);
  const Rows rows = of.counts || of.list ? rows_of(of.key) : Rows{};
  if (of.list && rows.table && (rows.table->is_object() || rows.begin < rows.end)) return show_rows(rows);
  if (of.range || of.list) {
    const Series* const series = column_of(answer, of.key);
    if (!series) return std::nullopt;
    if (of.range) return show_range(*series);
    const std::string_view in = of.key.substr(0, of.key.size() - series->info().key.size());
    return show_list(*series, of.with.empty() ? nullptr : column_of(answer, std::string(in).append(of.with)));
  }
  if (of.counts && !of.key.empty() && !rows.table) return std::nullopt;
  const auto counted = of.key.empty() ? count : static_cast<int64_t>(rows.end - rows.begin);
  const std::optional<Shown> value = of.counts ? Shown{Type::whole, Unit::count, counted} : find(of.key);
  if (!value) return std::nullopt;
  if (of.asks) return is_so(*value, of.equals) ? std::optional(std::string()) : std::nullopt;
  if (of.below.empty()) return show(*value, of.sign);
  const std::optional<Shown> whole = find(of.below);
  if (!whole || number_of(*whole) == 0) return std::nullopt;
  return show({Type::real, Unit::share, number_of(*value) / number_of(*whole)}, of.sign);
}

std::optional<std::string> Scope::fill(std::string_view of_template) const {
  return filled(of_template, [&](std::string_view reference) { return text(reference); });
}

const Series* column_of(const answer::Answer& answer, std::string_view key) {
  for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
    if (const answer::Table* const table = answer.table(key.substr(0, dot)))
      if (const Series* const column = table->column(key.substr(dot + 1))) return column;
  return nullptr;
}

}  // namespace chakra::view
