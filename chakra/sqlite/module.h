// The virtual tables as a module of SQLite. Inside sqlite.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>

#include "chakra/sqlite/index.h"
#include "chakra/sqlite/tables.h"

namespace chakra::sqlite {

/// A query in work: what callbacks of SQLite leave for the caller.
struct QueryState {
  sqlite3* db = nullptr;
  bool declares = false;       ///< a virtual table declares its columns: the authorizer must allow that
  std::string denied;          ///< the action that the authorizer refused; empty: none
  std::optional<Error> error;  ///< of a callback
};

/// A table that SQLite knows by its name.
struct BoundTable {
  Table* table = nullptr;
  QueryState* state = nullptr;
  std::unique_ptr<TableRows> rows = {};  ///< after the first use
};

/// Let statements use the table, which must outlive the connection.
int bind_table(sqlite3* db, BoundTable& table);

}  // namespace chakra::sqlite
