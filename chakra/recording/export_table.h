// The rows of one table of a profiler's SQLite database, with the values of some columns. Inside recording.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/recording/profile.h"
#include "chakra/sqlite/sqlite.h"

namespace chakra::recording {

/// A column that a query needs; one that an older or newer database may lack is null there.
struct NeededColumn {
  const char* name;
  bool required = true;
};

/// A profiler's database, with the tags of a missing column and of an impossible value.
struct ExportedBase {
  const sqlite::Database& database;
  const char* missing = "";
  const char* impossible = "";

  Failure fault(const char* tag, std::string text) const {
    return fail(Code::bad_input, tag, std::move(text), {database.file()});
  }
};

class ExportTable {
 public:
  /// Nullopt if the database has no such table. `distinct`: equal rows once. Errors: ExportedBase::missing,
  /// those of Database.
  static Result<std::optional<ExportTable>> open(const ExportedBase& base, const std::string& name,
                                                 std::initializer_list<NeededColumn> columns, bool distinct = false);

  Result<bool> next() { return rows_.next(); }
  bool has(int column) const { return !rows_.is_null(column); }
  std::string_view text(int column) const { return rows_.text(column); }
  std::string_view bytes(int column) const { return rows_.bytes(column); }
  int64_t integer(int column, int64_t missing = -1) const {
    return rows_.is_integer(column) ? rows_.integer(column) : missing;
  }
  Failure wrong(std::string_view text) const;  ///< ExportedBase::impossible
  /// Return the times of the row, of columns 0 and 1. Errors: ExportedBase::impossible.
  Result<Record> record() const;

 private:
  ExportTable(const ExportedBase& base, std::string name, sqlite::Rows rows)
      : base_(base), name_(std::move(name)), rows_(std::move(rows)) {}

  ExportedBase base_;
  std::string name_;
  sqlite::Rows rows_;
};

/// Call `use` with each row of a table. Return whether the database has the table.
template <class Use>
Result<bool> each_row(const ExportedBase& base, const std::string& name, std::initializer_list<NeededColumn> columns,
                      const Use& use, bool distinct = false) {
  CHAKRA_ASSIGN(auto table, ExportTable::open(base, name, columns, distinct));
  while (table) {
    CHAKRA_ASSIGN(const bool more, table->next());
    if (!more) return true;
    CHAKRA_TRY(use(*table));
  }
  return false;
}

}  // namespace chakra::recording
