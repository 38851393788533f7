// Virtual tables: rows, constraints, groups without a sort, and statements that must be refused or stopped.
#include "chakra/sqlite/tables.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>

#include "chakra/base/progress.h"
#include "chakra/base/testing/testing.h"

namespace chakra::sqlite {
namespace {

using chakra::testing::tag_of;

/// Rows of a part: id, a name (missing in every fifth row), a square root.
struct Rows {
  int64_t first = 0;
  const StringPool* texts = nullptr;
};

int calls = 0;

Cell id_of(const void* of, size_t, size_t row) {
  ++calls;
  return Cell::whole(static_cast<const Rows*>(of)->first + static_cast<int64_t>(row));
}
Cell name_of(const void*, size_t, size_t row) {
  return row % 5 == 4 ? Cell() : Cell::text(static_cast<StringId>(row % 3));
}
Cell root_of(const void*, size_t, size_t row) { return Cell::real(static_cast<double>(row) / 2); }
Cell large(const void*, size_t, size_t row) { return Cell::whole(UINT64_MAX - row); }

class Tables : public ::testing::Test {
 protected:
  Tables() {
    texts_.intern("b");
    texts_.intern("a");
    rows_ = {{100, &texts_}, {200, &texts_}, {300, &texts_}};
    Table t{"t",
            "a table",
            {{"rank", ValueType::whole},
             {"id", ValueType::whole, "", "", true, id_of},
             {"name", ValueType::text, "", "", false, name_of},
             {"root", ValueType::real, "", "", false, root_of},
             {"large", ValueType::whole, "", "", false, large}},
            true};
    t.load = [this](Table& is) -> Result<void> {
      ++loads_;
      is.texts = &texts_;
      is.parts = {{0, 10, &rows_[0]}, {3, 10, &rows_[1]}, {7, 0, &rows_[1]}, {9, 10, &rows_[2]}};
      return {};
    };
    tables_.push_back(std::move(t));
  }
  Result<QueriedRows> run(std::string_view sql, const std::vector<Parameter>& parameters = {},
                          const QueryLimits& limits = {.seconds = 0.2, .bytes = 64 << 20}) {
    calls = 0;
    return select(tables_, sql, parameters, limits);
  }
  std::string text(std::string_view sql, const std::vector<Parameter>& parameters = {}) {
    const auto made = run(sql, parameters);
    if (!made) return made.error().message();
    std::string all;
    for (size_t r = 0; r < made->rows; ++r) {
      for (const auto& column : made->values) {
        if (&column != &made->values[0]) all += '|';
        if (const auto* n = std::get_if<int64_t>(&column[r])) all += fmt::format("{}", *n);
        else if (const auto* d = std::get_if<double>(&column[r])) all += fmt::format("{}", *d);
        else if (const auto* s = std::get_if<std::string>(&column[r])) all += *s;
        else all += "NULL";
      }
      all += ' ';
    }
    return all;
  }

  StringPool texts_;
  std::vector<Rows> rows_;
  std::vector<Table> tables_;
  int loads_ = 0;
};

TEST_F(Tables, ReadsRows) {
  EXPECT_EQ(text("select count(*), count(name), sum(id), max(root) from t"), "30|24|6135|4.5 ");
  EXPECT_EQ(text("select id, name, root from t where rank = 3 limit 5"),
            "200||0 201|b|0.5 202|a|1 203||1.5 204|NULL|2 ");
  EXPECT_EQ(loads_, 1);
}

TEST_F(Tables, ReadOnlyThePartOfAKey) {
  EXPECT_EQ(text("select sum(id) from t where rank = 3"), "2045 ");
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(text("select sum(id) from t where rank in (3, 9, 4)"), "5090 ");
  EXPECT_EQ(text("select count(*) from t where rank = 7"), "0 ");
  EXPECT_EQ(text("select count(*) from t where rank = 4"), "0 ");
  EXPECT_EQ(text("select count(*) from t where rank = :r", {{"r", int64_t{9}}}), "10 ");
}

TEST_F(Tables, CompareLikeSqlite) {
  // SQLite converts the other side by the type of the column; the index must not lose such rows.
  EXPECT_EQ(text("select count(*) from t where rank = '3'"), "10 ");
  EXPECT_EQ(text("select count(*) from t where rank = 3.0"), "10 ");
  EXPECT_EQ(text("select count(*) from t where rank = 3.5"), "0 ");
  EXPECT_EQ(text("select count(*) from t where rank = null"), "0 ");
  EXPECT_EQ(text("select rank from t where id = '205'"), "3 ");
  EXPECT_EQ(text("select rank from t where id = 205.0"), "3 ");
  EXPECT_EQ(text("select count(*) from t where name = 'a'"), "9 ");
  EXPECT_EQ(text("select count(*) from t where name = ''"), "9 ");
  EXPECT_EQ(text("select count(*) from t where name = 'c'"), "0 ");
  EXPECT_EQ(text("select count(*) from t where name = 'A' collate nocase"), "9 ");
  EXPECT_EQ(text("select count(*) from t where name is null"), "6 ");
  EXPECT_EQ(text("select count(*) from t where name = null"), "0 ");
  EXPECT_EQ(text("select count(*) from t where name = x'61'"), "0 ");
  EXPECT_EQ(text("select count(*) from t where root = 1"), "3 ");
  EXPECT_EQ(text("select count(*) from t where rank = 3 or id = 100"), "11 ");
  EXPECT_EQ(text("select count(*) from t as a join t as b on a.rank = b.rank and a.id = b.id"), "30 ");
  EXPECT_EQ(text("select count(*) from t as a join t as b on a.name = b.name"), "198 ");
}

TEST_F(Tables, SortLikeSqlite) {
  // A subquery with LIMIT is materialized, and grouped by a sort.
  const std::string sorted = "(select * from (select rank, id, name, root from t limit 1000))";
  for (const char* columns : {"name", "rank", "name, rank", "rank, name", "root", "id", "root, name"}) {
    const std::string sql = "select {0}, count(*), sum(id) from {1} group by {0}";
    const std::string outer = "select * from ({}) order by 1, 2, 3, 4";
    const auto grouped = [&](const std::string& from) {
      return text(fmt::format(fmt::runtime(outer),
                              fmt::format("select 0, * from ({})", fmt::format(fmt::runtime(sql), columns, from))));
    };
    EXPECT_EQ(grouped("t"), grouped(sorted)) << columns;
    EXPECT_EQ(text(fmt::format("select count(*) from (select distinct {} from t)", columns)),
              text(fmt::format("select count(*) from (select distinct {} from {})", columns, sorted)))
        << columns;
  }
  EXPECT_EQ(text("select name, count(*) from t where rank = 3 group by name order by name"), "NULL|2 |3 a|3 b|2 ");
  EXPECT_EQ(text("select name, count(*) from t group by name collate nocase order by 1"), "NULL|6 |9 a|9 b|6 ");
  for (const char* order :
       {"id desc", "name", "name desc, id desc", "rank desc, name", "root desc, rank", "name, root desc"})
    EXPECT_EQ(text(fmt::format("select rank, id from t order by {}", order)),
              text(fmt::format("select rank, id from {} order by {}, rank, id", sorted, order)))
        << order;
  EXPECT_EQ(text("select name, count(*) from t group by name order by name desc"), "b|6 a|9 |9 NULL|6 ");
  EXPECT_EQ(text("select distinct name from t order by name nulls last"), " a b NULL ");
  EXPECT_EQ(text("select count(distinct name), count(distinct rank) from t"), "3|3 ");
}

TEST_F(Tables, BindParameters) {
  EXPECT_EQ(text("select :a, @b, $c, :a", {{"a", int64_t{INT64_MAX}}, {"b", "'; drop table t"}, {"c", 0.5}}),
            "9223372036854775807|'; drop table t|0.5|9223372036854775807 ");
  EXPECT_EQ(tag_of(run("select :a")), "query.parameter");
  EXPECT_EQ(tag_of(run("select ?", {{"1", int64_t{1}}})), "query.parameter");
  EXPECT_EQ(tag_of(run("select 1", {{"a", int64_t{1}}})), "query.parameter");
}

TEST_F(Tables, RefuseAllButReading) {
  for (const char* sql : {"delete from t",
                          "insert into t values (1, 2, 3, 4, 5)",
                          "update t set id = 1",
                          "create table u(a)",
                          "create temp table u(a)",
                          "create view v as select 1",
                          "create virtual table v using fts5(a)",
                          "drop table t",
                          "attach '/tmp/x' as a",
                          "detach main",
                          "pragma journal_mode",
                          "select * from pragma_table_info('t')",
                          "begin",
                          "commit",
                          "savepoint s",
                          "vacuum",
                          "vacuum into '/tmp/x'",
                          "reindex",
                          "analyze",
                          "select load_extension('x')",
                          "with r as (select 1) insert into t select * from r"})
    EXPECT_EQ(tag_of(run(sql)), "query.denied") << sql;
  for (const char* sql : {"", ";", "-- nothing", "nonsense", "select", "select 1; select 2", "select 1; nonsense",
                          "select * from missing", "select missing from t", "select \"missing\" from t"})
    EXPECT_EQ(tag_of(run(sql)), "query.sql") << sql;
  EXPECT_EQ(run("select id,\n missing from t").error().place.text(), "SQL @12");
  EXPECT_EQ(text("select 1; -- the end"), "1 ");
}

TEST_F(Tables, StopWhatIsTooLarge) {
  const auto begin = std::chrono::steady_clock::now();
  std::string deep = "1", wide = "select 1", nested = "with v0 as (select id from t)";
  for (int i = 0; i < 500; ++i) deep = "(" + deep + "+1)", wide += " union select 1";
  for (int i = 1; i < 40; ++i) nested += fmt::format(", v{0} as (select a.id from v{1} as a, v{1} as b)", i, i - 1);
  for (const std::string& sql : std::vector<std::string>{
           "select randomblob(1000000000)", "select hex(zeroblob(1000000000))",
           "select replace(printf('%10000d', 1), ' ', printf('%1000d', 1))",
           "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
           "with recursive r(n) as (select 1 union all select n + 1 from r) select n from r",
           "with recursive r(n) as (select 1 union all select n + 1 from r) select n from r order by n desc",
           "with recursive r(n) as (select 'a' union all select n || n from r) select n from r",
           std::string(
               "select count(*) from t a, t b, t c, t d, t e, t f, t g where a.id + b.id + c.id + d.id + e.id < 0"),
           std::string("select '") + std::string(200'000, 'a') + "'",
           "select group_concat(a.name || b.id || c.id || d.id) from t a, t b, t c, t d"})
    EXPECT_EQ(tag_of(run(sql)), "query.limit") << sql.substr(0, 100);
  for (const std::string& sql : {"select " + deep, wide}) EXPECT_EQ(tag_of(run(sql)), "query.sql");
  const std::string refused = tag_of(run(nested + " select count(*) from v39"));
  EXPECT_TRUE(refused == "query.limit" || refused == "query.sql") << refused;
  EXPECT_EQ(text("select printf('%1000000000d', 1)"), "NULL ");  // so does SQLite
  // 0.2 s each, and at most a second more.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_EQ(sqlite3_hard_heap_limit64(-1), 0);
  EXPECT_EQ(text("select count(*) from t"), "30 ");
}

TEST_F(Tables, ReportWhatSqlLacks) {
  EXPECT_EQ(tag_of(run("select large from t")), "query.number");
  EXPECT_EQ(tag_of(run("select x'00'")), "query.blob");
  EXPECT_EQ(tag_of(run("select sum(9223372036854775807) from t")), "query.failed");
  EXPECT_EQ(text("select count(*) from t where large = -1"), "0 ");
  tables_[0].load = [](Table&) -> Result<void> { return fail(Code::io, "base.file.read", "broken"); };
  EXPECT_EQ(tag_of(run("select 1 from t")), "base.file.read");
  EXPECT_EQ(text("select 1"), "1 ");
}

TEST_F(Tables, StopForTheCaller) {
  const Watched watch([](void*, double) { return false; }, nullptr);
  EXPECT_EQ(tag_of(run("with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r", {},
                       {.seconds = 1000})),
            "job.interrupted");
}

}  // namespace
}  // namespace chakra::sqlite
