#include "chakra/answer/answer.h"

#include <gtest/gtest.h>

#include <limits>

namespace chakra::answer {
namespace {

struct Part {
  std::string name;
  double share = 0;
};
struct Thing {
  int64_t id = 0;
  uint64_t bytes = 0;
  std::optional<double> error;
  std::optional<int64_t> time;
  bool good = false;
  std::vector<Part> parts;
  std::vector<int64_t> sizes;
};

constexpr std::array kThings{
    column<&Thing::id>("id", Unit::id, "which"),
    column<&Thing::bytes>("bytes", Unit::bytes, "how large"),
    rows<Thing>("parts", "what it is made of", [](const Thing& t) { return !t.parts.empty(); }),
    column<&Thing::time>("run.time_ps", Unit::ps, "how long"),
    column<&Thing::error>("run.error", Unit::share, "how far off"),
    rows<Thing>("sizes", "its sizes"),
    column<Thing>(
        "even", Unit::none, "only of even ones",
        [](const Thing& t) { return t.id % 2 == 0 ? std::optional(t.id) : std::nullopt; }, Missing::left_out),
    column<&Thing::good>("good", Unit::none, "it is good")};
constexpr std::array kParts{column<&Part::name>("name", Unit::none, "its name"),
                            column<&Part::share>("share", Unit::share, "its share")};
constexpr std::array kSizes{column<int64_t>("", Unit::bytes, "the size", [](const int64_t& n) { return n; })};
constexpr std::array kTotals{column<&Thing::bytes>("bytes", Unit::bytes, "of all"),
                             column<&Thing::error>("deep.error", Unit::share, "of all"),
                             column<&Thing::time>("deep.time_ps", Unit::ps, "of all")};

Answer answer_of(const std::vector<Thing>& things, const Thing* total, bool present = true) {
  Builder to("things");
  to.values("total.", total, kTotals);
  to.table("things", "all of them", things, kThings, present);
  to.children(
      "things", "parts", things, [](const Thing& t) -> const auto& { return t.parts; }, kParts);
  to.children(
      "things", "sizes", things, [](const Thing& t) -> const auto& { return t.sizes; }, kSizes);
  return std::move(to).finish({{"a.tag", Severity::warning, 3, -1, "a \"text\"", {{"copies", int64_t{2}}}}});
}

TEST(Answer, IsJson) {
  const Thing total{.bytes = UINT64_MAX, .error = {}, .time = {}, .parts = {}, .sizes = {}};
  const std::vector<Thing> things{
      {.id = 0, .bytes = 5, .error = 0.5, .time = 7, .good = true, .parts = {{"a\n", 1}, {"b", 1e-9}}, .sizes = {1, 2}},
      {.id = -1, .error = {}, .time = {}, .parts = {}, .sizes = {}}};
  EXPECT_EQ(to_json_text(answer_of(things, &total)), R"({
  "total": {
    "bytes": 18446744073709551615,
    "deep": null
  },
  "things": [
    {
      "id": 0,
      "bytes": 5,
      "parts": [
        {
          "name": "a\n",
          "share": 1.0
        },
        {
          "name": "b",
          "share": 1e-09
        }
      ],
      "run": {
        "time_ps": 7,
        "error": 0.5
      },
      "sizes": [
        1,
        2
      ],
      "even": 0,
      "good": true
    },
    {
      "id": -1,
      "bytes": 0,
      "run": null,
      "sizes": [],
      "good": false
    }
  ],
  "findings": [
    {
      "tag": "a.tag",
      "severity": "warning",
      "rank": 3,
      "node": null,
      "text": "a \"text\"",
      "copies": 2
    }
  ]
}
)");
}

TEST(Answer, LeavesOutWhatIsNotThere) {
  const std::string text = to_json_text(answer_of({}, nullptr, false));
  EXPECT_TRUE(text.starts_with("{\n  \"findings\": [")) << text;
  EXPECT_TRUE(to_json_text(answer_of({}, nullptr)).starts_with("{\n  \"things\": [],\n"));
}

TEST(Answer, IsFoundByKeys) {
  const Thing total{.bytes = 9, .error = {}, .time = {}, .parts = {}, .sizes = {}};
  const Answer answer = answer_of({{.id = 4, .error = 0.25, .time = {}, .parts = {{"a", 1}}, .sizes = {}}}, &total);
  EXPECT_EQ(std::get<int64_t>(answer.value("total.bytes")->cell), 9);
  EXPECT_EQ(answer.value("total.none"), nullptr);
  const Table* const things = answer.table("things");
  ASSERT_NE(things, nullptr);
  EXPECT_EQ(things->column("id")->whole(0), 4);
  EXPECT_EQ(things->column("run.error")->real(0), 0.25);
  EXPECT_FALSE(things->column("run.time_ps")->has(0));
  EXPECT_EQ(answer.table("things.parts")->column("name")->text(0), "a");
  EXPECT_EQ(answer_of({}, nullptr, false).table("things"), nullptr);
}

TEST(Answer, HasWordsForWhatIsMissing) {
  struct Row {
    std::optional<double> rate, noise;
    std::optional<int64_t> left;
  };
  constexpr std::array kRows{column<&Row::rate>("rate", Unit::bytes_per_s, "how fast", Missing::unknown),
                             column<&Row::noise>("noise", Unit::share, "how sure", Missing::empty),
                             also_ns(column<&Row::left>("left_ps", Unit::ps, "how much is left", Missing::left_out))};
  const std::vector<Row> rows{{0.5, 0.25, -1'500}, {}};
  Builder to("rows");
  to.values("first.", &rows[1], kRows);
  to.table("rows", "all", rows, kRows);
  EXPECT_EQ(to_json_text(std::move(to).finish()), R"({
  "first": {
    "rate": "unknown",
    "noise": ""
  },
  "rows": [
    {
      "rate": 0.5,
      "noise": 0.25,
      "left_ns": -1.5,
      "left_ps": -1500
    },
    {
      "rate": "unknown",
      "noise": ""
    }
  ]
}
)");
}

TEST(Answer, OfATableAloneIsAList) {
  Builder to("sizes");
  to.table("", "all", std::vector<int64_t>{1, 2}, kSizes);
  EXPECT_EQ(to_json_text(std::move(to).finish()), "[\n  1,\n  2\n]\n");
}

TEST(Answer, TakesColumnsThatAreFilled) {
  Series names({"name", Type::text, Unit::none, "its name"}), sizes({"size", Type::whole, Unit::bytes, "its size"});
  names.add(std::string("a"));
  sizes.add(int64_t{7});
  Builder to("rows");
  to.table("rows", "all", {names, sizes});
  const Answer answer = std::move(to).finish({});
  EXPECT_EQ(answer.table("rows")->column("size")->whole(0), 7);
  EXPECT_EQ(answer.table("rows")->rows, 1U);
}

/// Every value of an answer, also of one that has none of them.
TEST(Answer, HasASchema) {
  std::string text;
  for (const SchemaRow& row : schema_of(answer_of({}, nullptr, false))) {
    text += row.key + " " + std::string(kUnitNames[static_cast<size_t>(row.info.unit)]) + "\n";
    EXPECT_FALSE(row.info.meaning.empty()) << row.key;
  }
  EXPECT_EQ(
      text,
      "total.bytes bytes\ntotal.deep.error share\ntotal.deep.time_ps ps\nthings[] \nthings[].id id\n"
      "things[].bytes bytes\nthings[].parts[] \nthings[].parts[].name \nthings[].parts[].share share\n"
      "things[].run.time_ps ps\nthings[].run.error share\nthings[].sizes[] bytes\nthings[].even \nthings[].good \n");
}

/// What programs have read for long: nanoseconds, objects whose keys are data, findings of a part, values of any type.
struct Rank {
  Picoseconds a_ps = 0;
  std::optional<Picoseconds> b_ps;
  std::vector<std::pair<std::string, int64_t>> edges;
  std::vector<Part> work;
  Findings findings;
  std::variant<std::string, int64_t, uint64_t, double> ratio;
};
constexpr std::array kRanks{also_ns(column<&Rank::a_ps>("span_ps.a", Unit::ps, "of a")),
                            also_ns(column<&Rank::b_ps>("span_ps.b", Unit::ps, "of b")),
                            rows<Rank>("edges", "by kind"),
                            rows<Rank>("work", "by kind"),
                            rows<Rank>("findings", "about it"),
                            column<&Rank::ratio>("ratio", Unit::none, "a number, or why there is none")};
constexpr std::array kEdges{
    column<std::pair<std::string, int64_t>>("", Unit::none, "the kind", [](const auto& e) { return e.first; }),
    column<std::pair<std::string, int64_t>>("", Unit::count, "how many", [](const auto& e) { return e.second; })};
constexpr std::array kWork{column<&Part::name>("", Unit::none, "the kind"),
                           column<&Part::share>("share", Unit::share, "its share")};
Answer ranks_answer(const std::vector<Rank>& ranks) {
  Builder to("ranks");
  to.table("ranks", "all of them", ranks, kRanks);
  to.children(
      "ranks", "edges", ranks, [](const Rank& r) -> const auto& { return r.edges; }, kEdges);
  to.children(
      "ranks", "work", ranks, [](const Rank& r) -> const auto& { return r.work; }, kWork);
  to.child_findings(
      "ranks", "findings", ranks, [](const Rank& r) -> const auto& { return r.findings; });
  return std::move(to).finish();
}

TEST(Answer, HasObjectsByDataAndNanoseconds) {
  const std::vector<Rank> ranks{{.a_ps = 1500,
                                 .b_ps = 2000,
                                 .edges = {{"a.b", 3}, {"c", 4}},
                                 .work = {{"gemm", 0.5}},
                                 .findings = {{"a.tag", Severity::note, -1, 1, "text"}},
                                 .ratio = UINT64_MAX},
                                {.a_ps = 0, .b_ps = {}, .edges = {}, .work = {}, .findings = {}, .ratio = "new"}};
  std::string text = to_json_text(ranks_answer(ranks));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_EQ(text, R"({"ranks":[{"span_ns":{"a":1.5,"b":2},"span_ps":{"a":1500,"b":2000},"edges":{"a.b":3,"c":4},)"
                  R"("work":{"gemm":{"share":0.5}},"findings":[{"tag":"a.tag","severity":"note","rank":null,"node":1,)"
                  R"("text":"text"}],"ratio":18446744073709551615},)"
                  R"({"span_ns":{"a":0,"b":null},"span_ps":{"a":0,"b":null},"edges":{},"work":{},"findings":[],)"
                  R"("ratio":"new"}]})");
  std::string schema;
  for (const SchemaRow& row : schema_of(ranks_answer({})))
    schema += row.key + " " + std::string(kUnitNames[static_cast<size_t>(row.info.unit)]) + ",";
  EXPECT_EQ(schema,
            "ranks[] ,ranks[].span_ns.a ns,ranks[].span_ps.a ps,ranks[].span_ns.b ns,ranks[].span_ps.b ps,"
            "ranks[].edges{} count,ranks[].work{} ,ranks[].work{}.share share,ranks[].findings[] ,ranks[].ratio ,");
}

TEST(Answer, IsWrittenInPiecesOfWholeLines) {
  std::vector<Thing> things(5'000);
  for (size_t i = 0; i < things.size(); ++i) things[i].id = static_cast<int64_t>(i);
  const Answer answer = answer_of(things, nullptr);
  std::string whole;
  size_t pieces = 0, largest = 0;
  ASSERT_TRUE(write_json(answer, [&](std::string_view piece) -> Result<void> {
    EXPECT_TRUE(piece.ends_with('\n'));
    largest = std::max(largest, piece.size());
    ++pieces;
    whole += piece;
    return {};
  }));
  EXPECT_EQ(whole, to_json_text(answer));
  EXPECT_GT(pieces, 5U);
  EXPECT_LT(largest, size_t{1} << 17);
  int calls = 0;
  const Result<void> failed = write_json(answer, [&](std::string_view) -> Result<void> {
    ++calls;
    return fail(Code::io, "base.file.write", "full");
  });
  EXPECT_FALSE(failed);
  EXPECT_EQ(calls, 1);  // nothing is written after an error
}

}  // namespace
}  // namespace chakra::answer
