// SQL over values of a program: read-only virtual tables over columns in memory, and one SELECT within limits.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::sqlite {

enum class ValueType : uint8_t { whole, real, text };
inline constexpr std::array<std::string_view, 3> kValueTypeNames{"INTEGER", "REAL", "TEXT"};
inline std::string_view name(ValueType type) { return kValueTypeNames[static_cast<size_t>(type)]; }

/// A cell of a virtual table. `bits`: the number, the bits of a double, or an id in Table::texts.
struct Cell {
  enum class Kind : uint8_t { missing, present, large } kind = Kind::missing;  ///< large: no 64-bit signed integer
  int64_t bits = 0;

  static Cell whole(std::integral auto number) {
    if (!std::in_range<int64_t>(number)) return {Kind::large, 0};
    return {Kind::present, static_cast<int64_t>(number)};
  }
  static Cell text(StringId id) { return {Kind::present, id}; }
  static Cell real(double number);  ///< missing unless finite
};

struct TableColumn {
  std::string name;
  ValueType type = ValueType::whole;
  std::string unit = {}, meaning = {};
  bool unique = false;  ///< no part has a value twice, as a rule
  /// Return a cell. `of`: Part::of; `column`: the number of this column.
  Cell (*get)(const void* of, size_t column, size_t row) = nullptr;
};

/// Rows that are stored together, such as those of a rank.
struct Part {
  int64_t key = 0;
  size_t rows = 0;
  const void* of = nullptr;
};

/// A virtual table. Cells are read in place: a query does not copy the table.
struct Table {
  std::string name, meaning;
  std::vector<TableColumn> columns;
  bool by_key = false;  ///< the first column is Part::key, and parts ascend: `where rank = 3` reads one part
  /// Fill `parts` and `texts` at the first use, and become null; null: they are already there.
  std::function<Result<void>(Table& table)> load = {};
  std::vector<Part> parts = {};
  const StringPool* texts = nullptr;
  std::shared_ptr<const void> owner = {};  ///< of cells that live as long as the table
};

/// A value of a query.
using QueryValue = std::variant<std::monostate, int64_t, double, std::string>;
struct Parameter {
  std::string name;  ///< without ":"
  QueryValue value;
};

struct QueryLimits {
  double seconds = 60;                       ///< wall time for the rows
  uint64_t bytes = uint64_t{1} << 30;        ///< memory of SQLite, and of the rows
  static constexpr int kLongest = 32 << 10;  ///< bytes of a text: functions of SQLite take time with its square
};

struct QueriedRows {
  std::vector<std::string> columns;             ///< names, as SQLite gives them
  std::vector<std::vector<QueryValue>> values;  ///< by column
  size_t rows = 0;
};

/// Run one SELECT. Parameters (":name") are bound. Only reading is allowed: no writes, no ATTACH, no PRAGMA, no
/// extensions. The caller's watch can stop the query (base/progress.h).
/// Errors, with the byte in the text as the place:
///   - query.sql: syntax, unknown name, no statement or several
///   - query.denied: no SELECT
///   - query.parameter: missing, or unknown
///   - query.limit: time, memory, length
///   - query.blob: a result that is neither a number nor a text
///   - query.number: a cell beyond 64 bits
///   - query.failed: at run time
///   - job.interrupted, and the errors of Table::load
/// Cost: that of SQLite. Where SQLite would sort rows by plain columns, the
/// table sorts its values instead. The limit of memory holds for all queries of the process together, and for other
/// users of SQLite meanwhile.
Result<QueriedRows> select(std::vector<Table>& tables, std::string_view sql, const std::vector<Parameter>& parameters,
                           const QueryLimits& limits = {});

}  // namespace chakra::sqlite
