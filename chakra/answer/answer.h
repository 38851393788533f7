// An Answer is the result of a computation: named values, tables and findings, with units and meanings. Each number is
// added once, by one row beside the code that computes the number. JSON and the reference are derived from that row.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::answer {

enum class Unit : uint8_t {
  none,
  count,
  bytes,
  ps,
  ns,
  bytes_per_s,
  flop,
  flop_per_s,
  share,
  percent,
  id,
  flop_per_byte
};
inline constexpr std::array<std::string_view, 12> kUnitNames{"",     "count",  "bytes", "ps",      "ns", "bytes/s",
                                                             "FLOP", "FLOP/s", "share", "percent", "id", "FLOP/B"};
/// `rows`: not a value, but the nested rows of another table. `any`: each value has a type.
enum class Type : uint8_t { whole, natural, real, text, truth, rows, any };
inline constexpr std::array<std::string_view, 7> kTypeNames{"whole number",  "whole number", "number",        "text",
                                                            "true or false", "rows",         "number or text"};
/// JSON for a missing value: null, no key, or a text.
enum class Missing : uint8_t { null, left_out, unknown, empty };
inline constexpr std::array<std::string_view, 4> kMissingNames{"null", "left out", "\"unknown\"", "\"\""};

/// Description of a value: key, type, unit and meaning. Keys with dots are nested objects.
struct Info {
  std::string_view key;
  Type type = Type::whole;
  Unit unit = Unit::none;
  std::string_view meaning;
  Missing missing = Missing::null;
  bool also_ns = false;           ///< JSON has the value twice: first in nanoseconds, with _ns for _ps in the key
  std::string_view heading = {};  ///< of its column in texts that show all tables of an answer
};

/// monostate: the value is missing. A number that is not finite is null in JSON. uint64_t: only for type `any`.
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string, uint64_t>;

class Series;
/// Derivation of a value from a row of a computation.
template <class Row>
struct Column : Info {
  Cell (*get)(const Row& row) = nullptr;
  void (*put)(Series& to, const Row& row) = nullptr;  ///< likewise into a series, without a Cell; null: use `get`
};

namespace detail {

template <class T>
struct Plain {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct Plain<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

template <class T>
inline constexpr bool kIsVariant = false;
template <class... T>
inline constexpr bool kIsVariant<std::variant<T...>> = true;

template <class T>
constexpr Type type_of() {
  using Value = typename Plain<std::remove_cvref_t<T>>::type;
  if constexpr (kIsVariant<Value>) return Type::any;
  else if constexpr (std::same_as<Value, bool>) return Type::truth;
  else if constexpr (std::floating_point<Value>) return Type::real;
  else if constexpr (std::unsigned_integral<Value>) return Type::natural;
  else if constexpr (std::signed_integral<Value>) return Type::whole;
  else return Type::text;
}

template <class T>
Cell to_cell(const T& value) {
  if constexpr (Plain<T>::optional) return value ? to_cell(*value) : Cell();
  else if constexpr (kIsVariant<T>) return std::visit([](const auto& of_any) { return Cell(of_any); }, value);
  else if constexpr (std::same_as<T, bool>) return value;
  else if constexpr (std::integral<T>) return static_cast<int64_t>(value);
  else if constexpr (std::floating_point<T>) return static_cast<double>(value);
  else return std::string(value);
}

template <class T>
void put(Series& to, const T& value);

template <auto Member>
struct OfMember;
template <class Owner, class Value, Value Owner::*Member>
struct OfMember<Member> {
  using Row = Owner;
  using Type = Value;
};

}  // namespace detail

/// A member of a row: column<&RankReport::finish_ps>("finish_ps", Unit::ps, "end of the last node").
template <auto Member>
constexpr auto column(std::string_view key, Unit unit, std::string_view meaning, Missing missing = Missing::null) {
  using Of = detail::OfMember<Member>;
  using Row = typename Of::Row;
  return Column<Row>{{key, detail::type_of<typename Of::Type>(), unit, meaning, missing},
                     [](const Row& row) { return detail::to_cell(row.*Member); },
                     [](Series& to, const Row& row) { detail::put(to, row.*Member); }};
}
/// A value that a function without captures derives from a row.
template <class Row, class Get>
constexpr Column<Row> column(std::string_view key, Unit unit, std::string_view meaning, Get,
                             Missing missing = Missing::null) {
  using Value = std::invoke_result_t<Get, const Row&>;
  return {{key, detail::type_of<Value>(), unit, meaning, missing},
          [](const Row& row) { return detail::to_cell(Get{}(row)); },
          [](Series& to, const Row& row) { detail::put(to, Get{}(row)); }};
}
/// For picoseconds: JSON also has nanoseconds, for compatibility.
template <class Row>
constexpr Column<Row> also_ns(Column<Row> column) {
  column.also_ns = true;
  return column;
}
/// The place of a nested table (Builder::children). `has`: true if the row has nested rows.
template <class Row, class Has>
constexpr Column<Row> rows(std::string_view key, std::string_view meaning, Has, Missing missing = Missing::left_out) {
  return {{key, Type::rows, Unit::none, meaning, missing}, [](const Row& row) { return Cell(bool(Has{}(row))); }};
}
template <class Row>
constexpr Column<Row> rows(std::string_view key, std::string_view meaning) {
  return rows<Row>(key, meaning, [](const Row&) { return true; });
}

/// The values of a column, by row.
class Series {
 public:
  explicit Series(const Info& info) : info_(info) {}
  const Info& info() const { return info_; }
  size_t size() const { return numbers_.size() + reals_.size() + cells_.size(); }
  bool has(size_t row) const { return valid_.empty() || valid_[row]; }
  int64_t whole(size_t row) const { return numbers_[row]; }  ///< for natural: the bits of a uint64_t; for truth: 0 or 1
  double real(size_t row) const { return reals_[row]; }
  std::span<const int64_t> wholes() const { return numbers_; }  ///< empty if reals() has the values
  std::span<const double> reals() const { return reals_; }
  std::string_view text(size_t row) const { return (*texts_)[static_cast<StringId>(numbers_[row])]; }
  const Cell& any(size_t row) const { return cells_[row]; }
  void add(const Cell& cell);
  // Likewise for a value with the type of the column.
  void add_whole(int64_t value) {
    numbers_.push_back(value);
    if (!valid_.empty()) valid_.push_back(true);
  }
  void add_real(double value) {
    reals_.push_back(value);
    if (!valid_.empty()) valid_.push_back(true);
  }
  void add_text(std::string_view value);
  void add_missing();
  void reserve(size_t rows);

 private:
  Info info_;
  std::vector<int64_t> numbers_;  ///< for texts: ids
  std::vector<double> reals_;
  std::vector<Cell> cells_;          ///< for type any
  std::vector<bool> valid_;          ///< empty: all
  std::optional<StringPool> texts_;  ///< for texts
};

namespace detail {

template <class T>
void put(Series& to, const T& value) {
  if constexpr (Plain<T>::optional) value ? put(to, *value) : to.add_missing();
  else if constexpr (kIsVariant<T>) to.add(to_cell(value));
  else if constexpr (std::integral<T>) to.add_whole(static_cast<int64_t>(value));
  else if constexpr (std::floating_point<T>) to.add_real(static_cast<double>(value));
  else to.add_text(value);
}

}  // namespace detail

/// A list of rows. If the first of several columns has no key: an object, keyed by the texts of that column (with plain
/// values if the only other column has no key either). If the only column has no key: a list of plain values.
struct Table {
  std::string key, meaning;
  size_t rows = 0;
  bool present = true;        ///< false: this answer has no such table
  bool detail = false;        ///< too long for texts that show all tables of an answer
  int parent = -1;            ///< a table; a column of type `rows` there is the place of this table
  std::vector<size_t> begin;  ///< first nested row of each row of the parent, and the end
  std::vector<Series> columns;
  std::optional<Findings> findings;  ///< the rows are findings, and there are no columns

  bool is_object() const { return columns.size() > 1 && columns[0].info().key.empty(); }
  /// Return the row of the parent for each row; empty for a table that is not nested. Cost: O(rows).
  std::vector<size_t> parents() const;
  const Series* column(std::string_view name) const;
};

struct Value {
  std::string key;
  Info info;
  Cell cell;
  bool present = true;  ///< false: this answer does not have the value, not even null
};

/// Complete and immutable after Builder::finish().
class Answer {
 public:
  /// The parts in the order of the output: values, and tables without a parent.
  struct Part {
    bool is_table = false;
    size_t index = 0;
  };
  const std::string& verb() const { return verb_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Table>& tables() const { return tables_; }
  const std::vector<Part>& parts() const { return parts_; }
  const Findings& findings() const { return findings_; }
  bool has_findings() const { return has_findings_; }  ///< false: never has findings; JSON lacks the key
  const Table* table(std::string_view key) const;      ///< null if missing
  const Value* value(std::string_view key) const;

 private:
  friend class Builder;
  std::string verb_;
  std::vector<Value> values_;
  std::vector<Table> tables_;
  std::vector<Part> parts_;
  Findings findings_;
  bool has_findings_ = false;
};

/// Build an answer. Always declare all values and tables of the answer, also missing ones, so that an empty computation
/// yields the schema.
class Builder {
 public:
  /// `verb`: the kind of answer, such as "sim".
  explicit Builder(std::string verb) { answer_.verb_ = std::move(verb); }

  /// Add a value for each column of one row; missing if `row` is null. `prefix`: "" or "measured.".
  template <class Row, size_t N>
  void values(std::string_view prefix, const Row* row, const std::array<Column<Row>, N>& columns) {
    for (const Column<Row>& column : columns)
      add_value(std::string(prefix).append(column.key), column, row ? column.get(*row) : Cell(), row != nullptr);
  }
  /// Add a row for each of `rows`. `present`: false if the answer does not have the table.
  template <class Rows, class Row, size_t N>
  void table(std::string key, std::string_view meaning, const Rows& rows, const std::array<Column<Row>, N>& columns,
             bool present = true) {
    Table& to = add_table(std::move(key), meaning, std::size(rows), present);
    answer_.parts_.push_back({true, answer_.tables_.size() - 1});
    fill(to, rows, columns);
  }
  /// Add a table from columns of equal length.
  void table(std::string key, std::string_view meaning, std::vector<Series> columns, bool present = true,
             bool detail = false);
  /// Add rows nested in the rows of `parent`, the table added for `parents`. `of`: returns the nested rows of a parent.
  template <class Parents, class Of, class Row, size_t N>
  void children(std::string_view parent, std::string_view key, const Parents& parents, const Of& of,
                const std::array<Column<Row>, N>& columns) {
    Table& to = add_child(parent, key);
    to.begin.push_back(0);
    for (const auto& each : parents) {
      const auto& rows = of(each);
      to.rows += std::size(rows);
      fill(to, rows, columns);
      to.begin.push_back(to.rows);
    }
    if (to.columns.empty()) declare(to, columns);
  }

  /// Add findings about a part of the answer, as a table; `finish` takes findings about the whole answer.
  void findings(std::string key, std::string_view meaning, const Findings& findings, bool present = true);
  template <class Parents, class Of>
  void child_findings(std::string_view parent, std::string_view key, const Parents& parents, const Of& of) {
    Table& to = add_child(parent, key);
    to.findings.emplace();
    for (const auto& each : parents) {
      const Findings& findings = of(each);
      to.begin.push_back(to.rows);
      to.findings->insert(to.findings->end(), findings.begin(), findings.end());
      to.rows = to.findings->size();
    }
    to.begin.push_back(to.rows);
  }

  Answer finish(Findings findings) &&;
  Answer finish() &&;  ///< for a kind without findings

 private:
  void add_value(std::string key, const Info& info, Cell cell, bool present);
  Table& add_table(std::string key, std::string_view meaning, size_t rows, bool present);
  Table& add_child(std::string_view parent, std::string_view key);

  template <class Row, size_t N>
  static void declare(Table& to, const std::array<Column<Row>, N>& columns) {
    for (const Column<Row>& column : columns) to.columns.emplace_back(column).reserve(to.rows);
  }
  template <class Rows, class Row, size_t N>
  static void fill(Table& to, const Rows& rows, const std::array<Column<Row>, N>& columns) {
    if (to.columns.empty()) declare(to, columns);
    for (size_t c = 0; c < N; ++c) {
      Series& series = to.columns[c];
      for (const Row& row : rows)
        if (columns[c].put) columns[c].put(series, row);
        else series.add(columns[c].get(row));
    }
  }

  Answer answer_;
};

/// Write the answer as JSON, in pieces of whole lines: nested objects from dots in keys, tables as lists of objects (or
/// as described at Table), `findings` last. A single table without a key is the whole document. Cost: O(cells), memory
/// for a piece. Errors: as for `write`.
Result<void> write_json(const Answer& answer, const std::function<Result<void>(std::string_view piece)>& write);

/// Return the whole JSON as one text. Cost: memory for the text.
std::string to_json_text(const Answer& answer);

/// Return every possible value and column of answers of a verb, by the keys of JSON: "ranks[].rank", "edges{}".
struct SchemaRow {
  std::string key;
  Info info;
};
std::vector<SchemaRow> schema_of(const Answer& answer);
/// Return "span_ns.a" for "span_ps.a" (Info::also_ns).
std::string key_of_ns(std::string_view key);

// ---- single values
// -----------------------------------------------------------------------------------------------------

/// Append a number as JavaScript prints it, except that whole numbers keep ".0". Exponent below 1e-4 and from 1e15 on;
/// null unless finite.
void append_real(std::string& out, double value);
/// Append a quoted text. Bytes that are not UTF-8 become U+FFFD.
void append_text(std::string& out, std::string_view text);
/// Return a value as JSON; null if it is missing. `type`: of its column, which tells natural numbers.
std::string json_of(const Cell& cell, Type type);

}  // namespace chakra::answer
