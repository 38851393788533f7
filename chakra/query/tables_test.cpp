// Tables of a job against sums over its traces; names of parameters and columns; ready queries.
#include "chakra/query/tables.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"

namespace chakra::query {
namespace {

using chakra::testing::tag_of;
using trace::NodeId;
using trace::NodeType;

/// A computation on a thread, a kernel, an all-reduce, and a message from rank 0 to rank 1.
trace::Trace trace_of(int64_t rank) {
  trace::Builder b;
  b.trace.rank = rank;
  b.trace.base_ns = 1000 + rank;
  const auto add = [&](uint64_t id, const std::string& name, NodeType type, Picoseconds start) {
    const NodeId n = b.add(id, b.trace.strings.intern(name), type);
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = 500;
    b.trace.flags.edit(n) = trace::kHasStart | trace::kHasDuration;
    return n;
  };
  const NodeId host = add(10, fmt::format("only on {}", rank), NodeType::comp, 0);
  b.trace.lane.edit(host) = b.lane({trace::Lane::Kind::thread, 100, 7});
  const NodeId kernel = add(20, "kernel", NodeType::comp, 1000);
  b.trace.lane.edit(kernel) = b.lane({trace::Lane::Kind::stream, 0, 3});
  const NodeId reduce = add(30, "reduce", NodeType::coll, 2000);
  b.comm(reduce).type = trace::CommType::all_reduce;
  b.comm(reduce).bytes = 64;
  const NodeId message = add(40, "message", rank == 0 ? NodeType::send : NodeType::recv, 3000);
  b.comm(message).bytes = 8;
  b.comm(message).src = 0;
  b.comm(message).dst = 1;
  b.comm(message).tag = 5;
  const NodeId last = b.add(50, b.trace.strings.intern("kernel"), NodeType::comp);
  b.dep(kernel, host, static_cast<uint8_t>(trace::EdgeKind::launch), 25);
  b.dep(reduce, kernel, static_cast<uint8_t>(trace::EdgeKind::stream) | trace::kInferred);
  b.dep(last, reduce, 0);
  b.ctrl(kernel, host);
  return std::move(b).finish();
}

class Job : public ::testing::Test {
 protected:
  Job() {
    job_.ranks.push_back(trace_of(0));
    job_.ranks.push_back(trace_of(1));
    add_job(tables_, [this]() -> Result<const trace::TraceSet*> { return &job_; });
    add_columns(tables_);
  }
  std::string text(std::string_view sql) {
    const auto made = sqlite::select(tables_.all, sql, {});
    if (!made) return made.error().message();
    std::string all;
    for (size_t r = 0; r < made->rows; ++r) {
      for (const auto& column : made->values) {
        if (&column != &made->values[0]) all += '|';
        if (const auto* n = std::get_if<int64_t>(&column[r])) all += fmt::format("{}", *n);
        else if (const auto* s = std::get_if<std::string>(&column[r])) all += *s;
        else all += "NULL";
      }
      all += ' ';
    }
    return all;
  }

  trace::TraceSet job_;
  Tables tables_;
};

TEST_F(Job, HasNodes) {
  EXPECT_EQ(text("select rank, id, name, type from nodes where id = 10"),
            "0|10|only on 0|COMP_NODE 1|10|only on 1|COMP_NODE ");
  EXPECT_EQ(text("select name, count(*), sum(dur_ps) from nodes group by name"),
            "kernel|4|1000 message|2|1000 only on 0|1|500 only on 1|1|500 reduce|2|1000 ");
  EXPECT_EQ(text("select start_ps, dur_ps, process, thread, device, stream from nodes where rank = 1 and id < 30"),
            "1000|500|100|7|NULL|NULL 2000|500|NULL|NULL|0|3 ");
  EXPECT_EQ(text("select start_ps, dur_ps from nodes where rank = 1 and id = 50"), "NULL|NULL ");
  EXPECT_EQ(text("select type, comm_type, comm_bytes, comm_group, comm_src, comm_dst, comm_tag, comm_root from nodes "
                 "where rank = 1 and comm_bytes is not null"),
            "COMM_COLL_NODE|ALL_REDUCE|64||NULL|NULL|NULL|NULL COMM_RECV_NODE|NULL|8||0|1|5|NULL ");
}

TEST_F(Job, HasEdges) {
  EXPECT_EQ(text("select node, waits_for, dependency, kind, inferred, lag_ps from edges where rank = 1"),
            "20|10|data|launch|0|25 30|20|data|stream|1|0 50|30|data|given|0|0 20|10|control|NULL|NULL|0 ");
  EXPECT_EQ(text("select a.name, b.name from edges as e join nodes as a on a.rank = e.rank and a.id = e.node "
                 "join nodes as b on b.rank = e.rank and b.id = e.waits_for where e.kind = 'stream'"),
            "reduce|kernel reduce|kernel ");
}

TEST_F(Job, JoinsAndSortsLikeSqlite) {
  // A subquery with LIMIT is materialized: SQLite joins, groups and sorts without our indices.
  for (const char* sql :
       {"select a.name, b.waits_for, a.rank from {0} a join {1} b on a.rank = b.rank and a.id = b.node "
        "where a.rank in (1, 0, 7) order by b.waits_for desc, a.name, a.rank, b.dependency",
        "select a.name, count(*) from {0} a join {1} b on a.rank = b.rank and a.id = b.node "
        "group by a.name order by a.name desc",
        "select distinct b.kind, a.type from {0} a join {1} b on a.id = b.waits_for order by 1, 2",
        "select rank, max(id), count(name) from {0} where rank in (1, 0) group by rank",
        "select name, row_number() over (partition by name order by id desc, rank) from {0} order by 1, 2",
        "select count(*) from {0} a, {1} b where a.start_ps = b.node * 50 or a.id = b.node"})
    EXPECT_EQ(
        text(fmt::format(fmt::runtime(sql), "nodes", "edges")),
        text(fmt::format(fmt::runtime(sql), "(select * from nodes limit 9999)", "(select * from edges limit 9999)")))
        << sql;
}

TEST_F(Job, HasCommunication) {
  EXPECT_EQ(text("select rank, nodes, edges, base_ns from ranks"), "0|5|3|1000 1|5|3|1001 ");
  EXPECT_EQ(text("select name, known from groups"), "|1 ");
  EXPECT_EQ(text("select * from members"), "|0|0 |1|1 ");
  EXPECT_EQ(text("select collective, type, bytes, root, members from collectives"), "0|ALL_REDUCE|64|NULL|2 ");
  EXPECT_EQ(text("select * from collective_nodes"), "0|0|30 0|1|30 ");
  EXPECT_EQ(text("select * from messages"), "0|40|1|40|8 ");
  EXPECT_TRUE(tables_.findings->empty());
}

TEST_F(Job, DescribesEachColumn) {
  EXPECT_EQ(text("select count(*) from columns where table_name <> 'columns'"), text("select count(*) from columns"));
  EXPECT_EQ(text("select count(*) from columns where meaning = '' or name = ''"), "0 ");
  EXPECT_EQ(text("select unit from columns where table_name = 'nodes' and name = 'start_ps'"), "ps ");
  for (const sqlite::Table& table : tables_.all) EXPECT_FALSE(table.meaning.empty()) << table.name;
}

TEST_F(Job, ReportsMismatches) {
  job_.ranks.pop_back();
  EXPECT_EQ(text("select src, dst from messages"), "0|NULL ");
  EXPECT_FALSE(tables_.findings->empty());
}

TEST_F(Job, RefusesNumbersBeyond64Bits) {
  trace::Builder b;
  b.trace.rank = 2;
  b.add(uint64_t{1} << 63, 0, NodeType::comp);
  job_.ranks.push_back(std::move(b).finish());
  EXPECT_EQ(text("select count(*) from nodes"), "11 ");
  EXPECT_NE(text("select id from nodes where rank = 2").find("[query.number]"), std::string::npos);
}

TEST_F(Job, AnswersReadyQueriesOfTraces) {
  for (const QueryRow& row : kQueries) {
    if (row.sql.find("analyze_") != std::string_view::npos) continue;  // those need an answer
    std::vector<sqlite::Parameter> parameters;
    for (const ParameterRow& p : row.parameters)
      parameters.push_back(*parse_parameter(fmt::format("{}={}", p.name, p.value)));
    const auto made = sqlite::select(tables_.all, row.sql, parameters);
    EXPECT_TRUE(made) << row.name << ": " << made.error().message();
  }
}

TEST(Answers, AreTables) {
  struct Row {
    int64_t rank;
    double share;
    std::optional<std::string> name;
  };
  constexpr std::array kRows{answer::column<&Row::rank>("rank.id", answer::Unit::id, "the rank"),
                             answer::column<&Row::share>("share", answer::Unit::share, "a share"),
                             answer::column<&Row::name>("name", answer::Unit::none, "a name")};
  const auto answer = [&](const std::vector<Row>& rows) {
    answer::Builder to("test");
    to.table("rows", "some rows", rows, kRows);
    return std::move(to).finish({{"test.finding", Severity::note, -1, -1, "a finding"}});
  };
  Tables tables;
  add_answer(tables, "test", answer({}), [&](std::string_view key) -> Result<answer::Answer> {
    EXPECT_EQ(key, "rows");
    return answer({{3, 0.5, "x"}, {4, 0.25, std::nullopt}});
  });
  const auto made = sqlite::select(tables.all, "select rank_id, share, name from test_rows order by name desc", {});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->values[0], (std::vector<sqlite::QueryValue>{int64_t{3}, int64_t{4}}));
  EXPECT_EQ(made->values[1], (std::vector<sqlite::QueryValue>{0.5, 0.25}));
  EXPECT_EQ(made->values[2], (std::vector<sqlite::QueryValue>{"x", std::monostate()}));
  EXPECT_EQ(tables.findings->size(), 1U);
}

TEST(Names, OfParametersAndColumns) {
  EXPECT_EQ(parse_parameter("a=1")->value, sqlite::QueryValue(int64_t{1}));
  EXPECT_EQ(parse_parameter("a=-1.5")->value, sqlite::QueryValue(-1.5));
  EXPECT_EQ(parse_parameter("a=b=c")->value, sqlite::QueryValue("b=c"));
  EXPECT_EQ(parse_parameter("a=")->value, sqlite::QueryValue(""));
  EXPECT_EQ(parse_parameter("a=99999999999999999999")->value, sqlite::QueryValue(99999999999999999999.0));
  EXPECT_EQ(tag_of(parse_parameter("a")), "query.parameter");
  EXPECT_EQ(tag_of(parse_parameter("=1")), "query.parameter");
  EXPECT_EQ(keys_of({"a", "sum(n.b)", "", "a", "a_2", "a", "."}),
            (std::vector<std::string>{"a", "sum(n_b)", "column_3", "a_2", "a_2_2", "a_3", "_"}));
}

}  // namespace
}  // namespace chakra::query
