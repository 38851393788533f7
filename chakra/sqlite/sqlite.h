// SQLite databases that other programs wrote, read only: open, prepare, step through rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sqlite/tables.h"  // IWYU pragma: export

namespace chakra::sqlite {

/// The first bytes of each database.
inline constexpr std::string_view kMagic{"SQLite format 3\0", 16};

struct Limits {
  double seconds = 600;  ///< of wall time for each query
};

/// The rows of a query. Must not outlive the database.
class Rows {
 public:
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) noexcept;
  ~Rows();

  /// Step to the next row; false after the last one.
  /// Errors: sqlite.damaged, sqlite.read, sqlite.limit (time, or more rows than the file can hold).
  Result<bool> next();
  /// Return the number of the current row, from 1.
  int64_t row() const;

  // Values of the current row, by column from 0.
  bool is_null(int column) const;
  bool is_integer(int column) const;
  int64_t integer(int column) const;
  std::string_view text(int column) const;   ///< valid until next()
  std::string_view bytes(int column) const;  ///< of a blob or a text; valid until next()

 private:
  friend class Database;
  struct State;
  explicit Rows(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Database {
 public:
  /// Errors: base.file.open, sqlite.damaged (no database).
  static Result<Database> open(const std::string& path, Limits limits = {});
  /// Open a copy of the bytes of a database.
  static Result<Database> from_memory(std::string_view bytes, std::string file, Limits limits = {});
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  const std::string& file() const;
  /// Return the names of the tables, without views. Errors: those of next().
  Result<std::vector<std::string>> tables() const;
  /// Return the columns of a table, empty if no such table exists. A view is not a table. Errors: those of next().
  Result<std::vector<std::string>> columns(std::string_view table) const;
  /// Compile a SELECT. Errors: sqlite.query (unknown table or column, or not allowed), sqlite.damaged.
  Result<Rows> prepare(std::string_view query) const;

 private:
  struct State;
  friend class Rows;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Return an identifier in quotation marks, for a query.
std::string quote_name(std::string_view name);

}  // namespace chakra::sqlite
