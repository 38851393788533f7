#include "chakra/sqlite/sqlite.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/sqlite/testing/database.h"

namespace chakra::sqlite {
namespace {

using chakra::testing::tag_of;
using testing::database;

constexpr const char* kTable = "CREATE TABLE t(id INTEGER, name TEXT); INSERT INTO t VALUES (7, 'seven'), (8, NULL);";

TEST(Sqlite, ReadsRows) {
  auto db = Database::from_memory(database(kTable), "memory");
  ASSERT_TRUE(db) << db.error().text;
  EXPECT_EQ(*db->columns("t"), (std::vector<std::string>{"id", "name"}));
  EXPECT_TRUE(db->columns("u")->empty());
  auto rows = db->prepare("SELECT name, id FROM t ORDER BY id");
  ASSERT_TRUE(rows);
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(rows->text(0), "seven");
  EXPECT_EQ(rows->integer(1), 7);
  EXPECT_TRUE(rows->is_integer(1));
  EXPECT_FALSE(rows->is_integer(0));
  ASSERT_TRUE(*rows->next());
  EXPECT_TRUE(rows->is_null(0));
  EXPECT_EQ(rows->row(), 2);
  EXPECT_FALSE(*rows->next());
}

TEST(Sqlite, AllowsReadingOnly) {
  auto db = Database::from_memory(database(std::string(kTable) + "CREATE VIEW v AS SELECT * FROM t;"), "memory");
  ASSERT_TRUE(db);
  for (const char* query :
       {"ATTACH '/etc/passwd' AS a", "PRAGMA page_size", "DELETE FROM t", "CREATE TABLE u(a)", "SELECT * FROM v",
        "SELECT load_extension('x')", "SELECT randomblob(1000000000)", "SELECT * FROM missing", "SELECT missing FROM t",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", "nonsense"})
    EXPECT_EQ(tag_of(db->prepare(query)), "sqlite.query") << query;
  EXPECT_TRUE(db->columns("v")->empty());
}

TEST(Sqlite, EndsAfterItsTime) {
  std::string rows = "CREATE TABLE t(id INTEGER);";
  for (int i = 0; i < 200; ++i) rows += fmt::format("INSERT INTO t VALUES ({});", i);
  auto db = Database::from_memory(database(rows), "memory", {.seconds = 0.05});
  ASSERT_TRUE(db);
  auto slow = db->prepare("SELECT a.id FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0");
  ASSERT_TRUE(slow);
  EXPECT_EQ(tag_of(slow->next()), "sqlite.limit");
  auto many = Database::from_memory(database(rows), "memory");
  auto product = many->prepare("SELECT a.id FROM t a, t b, t c");
  Result<bool> next = true;
  while (next && *next) next = product->next();
  EXPECT_EQ(tag_of(next), "sqlite.limit");
}

TEST(Sqlite, DamagedFilesEndWithAnError) {
  std::string rows = "CREATE TABLE t(id INTEGER, name TEXT);";
  for (int i = 0; i < 1000; ++i) rows += fmt::format("INSERT INTO t VALUES ({}, 'name {}');", i, i);
  const std::string whole = database(rows);
  const auto read = [](const std::string& bytes) -> std::string {
    auto db = Database::from_memory(bytes, "memory");
    if (!db) return db.error().tag;
    auto all = db->prepare("SELECT id, name FROM t");
    if (!all) return all.error().tag;
    Result<bool> next = true;
    while (next && *next) next = all->next();
    return next ? "" : next.error().tag;
  };
  EXPECT_EQ(read(whole), "");
  EXPECT_EQ(read("not a database, but long enough to be one, if it were only the length that counts ............"),
            "sqlite.damaged");
  for (size_t cut = 0; cut < whole.size() - 1; cut += whole.size() / 50)
    EXPECT_NE(read(whole.substr(0, cut)), "") << cut;
  EXPECT_EQ(read(whole.substr(0, whole.size() - 1)), "sqlite.damaged");
  Prng random(7);
  for (int i = 0; i < 300; ++i) {
    std::string broken = whole;
    for (int k = 0; k < 8; ++k) broken[100 + random.next() % (broken.size() - 100)] ^= static_cast<char>(random.next());
    (void)read(broken);  // any result, but no crash and no endless loop
  }
}

TEST(Sqlite, OpensFilesWithOddNames) {
  const std::string folder = ::testing::TempDir() + "/odd %41?#";
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/a b.sqlite";
  ASSERT_TRUE(write_file(path, database(kTable)));
  auto db = Database::open(path);
  ASSERT_TRUE(db) << db.error().text;
  EXPECT_EQ(db->columns("t")->size(), 2u);
  EXPECT_EQ(tag_of(Database::open(folder + "/missing.sqlite")), "base.file.open");
  ASSERT_TRUE(write_file(path, "no database"));
  EXPECT_EQ(tag_of(Database::open(path)), "sqlite.damaged");
}

}  // namespace
}  // namespace chakra::sqlite
