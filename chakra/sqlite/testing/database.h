// Databases for tests.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace chakra::sqlite::testing {

/// Return the bytes of the database that these statements make.
inline std::string database(const std::string& statements) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return copy;
}

}  // namespace chakra::sqlite::testing
