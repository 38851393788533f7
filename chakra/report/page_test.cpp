#include "chakra/report/page.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace chakra::report {
namespace {

using answer::column;
using answer::Unit;

struct Path {
  int64_t rank, length;
};
struct NamedPart {
  int64_t rank;
  std::string name;
};
struct Problem {
  std::string evidence;
  int64_t row;
};
constexpr std::array kPaths{column<&Path::rank>("rank", Unit::id, "rank"),
                            column<&Path::length>("length_ps", Unit::ps, "length of the path")};
constexpr std::array kParts{column<&NamedPart::rank>("rank", Unit::id, "rank"),
                            column<&NamedPart::name>("name", Unit::none, "name of the part")};
constexpr std::array kProblems{column<&Problem::evidence>("evidence", Unit::none, "a table"),
                               column<&Problem::row>("row", Unit::id, "a row of that table")};

answer::Answer answer_of(const std::vector<Path>& paths, const std::vector<NamedPart>& parts,
                         const std::vector<Problem>& problems = {}) {
  answer::Builder to("analyze");
  to.table("critical_path", "critical path", paths, kPaths);
  to.table("parts", "parts", parts, kParts);
  to.table("diagnosis", "diagnosis", problems, kProblems);
  return std::move(to).finish({});
}

Page page_of_one(const std::string& name, int64_t ranks, const answer::Answer& answer) {
  const Subject subject{name, ranks, {{&answer}}};
  return page_of({&subject, 1}).value();
}

std::string data_of(const Page& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.html.find(begin) + begin.size();
  return page.html.substr(at, page.html.find("</script>", at) - at);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Page, KeepsTextsInsideOfTheirElement) {
  const answer::Answer answer = answer_of({{0, 1}}, {{0, "</script><b>&amp;\xE2\x80\xA8\xE2\x80\xA9\xFF\x01"}});
  const Page page = page_of_one("<job>", 1, answer);
  const std::string data = data_of(page);
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  EXPECT_TRUE(has(data, R"("\u003cjob\u003e")"));
  EXPECT_TRUE(has(data, R"("\u003c/script\u003e\u003cb\u003e\u0026amp;\u2028\u2029)"));
  EXPECT_TRUE(page.html.ends_with("</html>\n"));
}

TEST(Page, WritesLargeNumbersAsTexts) {
  const int64_t exact = (int64_t{1} << 53) - 1;
  const answer::Answer answer = answer_of({{0, exact}, {1, exact + 1}, {2, -exact - 1}}, {});
  EXPECT_TRUE(
      has(data_of(page_of_one("job", 3, answer)), R"([9007199254740991,"9007199254740992","-9007199254740992"])"));
}

TEST(Page, CutsLongTextsBetweenCharacters) {
  std::string text = "x";
  while (text.size() < 1'000'000) text += "\u00e9";
  const answer::Answer answer = answer_of({}, {{0, text}});
  const Page page = page_of_one("job", 1, answer);
  EXPECT_EQ(page.texts_cut, 1);
  EXPECT_TRUE(has(data_of(page), "\u00e9... (1000001 bytes)"));
  EXPECT_FALSE(has(data_of(page), "\uFFFD"));
}

TEST(Page, OfManyRanksHasTheExtremesAndTheEvidenceAndIsSmall) {
  constexpr int64_t kRanks = 10'000;
  std::vector<Path> paths;
  std::vector<NamedPart> parts;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    paths.push_back({rank, 1'000'000 + (rank * 7919) % kRanks});  // each length once
    for (int part = 0; part < 20; ++part) parts.push_back({rank, "part " + std::to_string(part)});
  }
  const answer::Answer answer = answer_of(paths, parts, {{"parts", 199'999}, {"parts", 4'000'000}, {"none", 1}});
  const Page page = page_of_one("job", kRanks, answer);
  const std::string data = data_of(page);
  EXPECT_LT(page.html.size(), 5'000'000u);
  EXPECT_EQ(page.ranks, static_cast<int64_t>(kMostRanks) + 1);  // the rank of the evidence
  EXPECT_EQ(page.rows + page.rows_omitted, kRanks + 20 * kRanks + 3);
  EXPECT_TRUE(has(data, "1000000,"));   // the shortest
  EXPECT_TRUE(has(data, "1009999"));    // the longest
  EXPECT_TRUE(has(data, ",199999]"));   // place of the evidence
  EXPECT_FALSE(has(data, "4000000]"));  // no such row
}

TEST(Page, OfFewRanksIsWhole) {
  const answer::Answer answer = answer_of({{0, 5}, {7, 4}}, {{0, "a"}, {7, "b"}});
  const Page page = page_of_one("job", 2, answer);
  EXPECT_EQ(page.rows, 4);
  EXPECT_EQ(page.rows_omitted, 0);
  EXPECT_EQ(page.tables, 2);
  EXPECT_TRUE(has(data_of(page), "\"cells\": [0,7]"));
}

// ---- simulations -----------------------------------------------------------------------------------------------

struct Sum {
  int64_t rank, finish, actor;
};
struct Outer {
  std::string name;
  std::vector<int64_t> inner;
};
struct Link {
  std::string from;
  int64_t busy;
};
constexpr std::array kSums{column<&Sum::rank>("rank", Unit::id, "rank"),
                           column<&Sum::finish>("finish_ps", Unit::ps, "finish"),
                           column<&Sum::actor>("actor", Unit::id, "actor")};
constexpr std::array kOuter{column<&Outer::name>("name", Unit::none, "name"),
                            answer::rows<Outer>("inner", "numbers of the row")};
constexpr std::array kInner{column<int64_t>("n", Unit::count, "number", [](const int64_t& n) { return n; })};
constexpr std::array kLinks{column<&Link::from>("from", Unit::none, "where the link begins"),
                            column<&Link::busy>("busy_ps", Unit::ps, "busy time")};

TEST(Page, FoldsEqualRanks) {
  std::vector<Sum> ranks;
  for (int64_t rank = 0; rank < 9'000; ++rank) ranks.push_back({rank, 100 + rank % 3, rank % 3});
  answer::Builder to("sim");
  to.table("ranks", "ranks", ranks, kSums);
  const answer::Answer answer = std::move(to).finish({});
  const Page page = page_of_one("job", 9'000, answer);
  EXPECT_TRUE(has(data_of(page), "\"cells\": [0,1,2]}"));
  EXPECT_TRUE(has(data_of(page), "\"identical\": [3000,3000,3000]"));
  EXPECT_EQ(page.ranks, 9'000);
  EXPECT_EQ(page.rows_omitted, 0);
}

TEST(Page, OfManyDifferentRanksHasTheExtremes) {
  std::vector<Sum> ranks;
  for (int64_t rank = 0; rank < 9'000; ++rank) ranks.push_back({rank, 100 + (rank * 7919) % 9'000, rank});
  answer::Builder to("sim");
  to.table("ranks", "ranks", ranks, kSums);
  const answer::Answer answer = std::move(to).finish({});
  const Page page = page_of_one("job", 9'000, answer);
  EXPECT_EQ(page.ranks, static_cast<int64_t>(kMostRanks));
  EXPECT_EQ(page.rows_omitted, 9'000 - page.ranks);
  EXPECT_TRUE(has(data_of(page), "\"cells\": [100,"));
  EXPECT_TRUE(has(data_of(page), "9099"));
}

TEST(Page, HasTheBusiestLinks) {
  std::vector<Link> links;
  for (int64_t i = 0; i < 5'000; ++i)
    links.push_back({"node " + std::to_string(i), i == 4'321 ? 1'000'000 : i % 1'000});
  answer::Builder to("sim");
  to.table("links", "links", links, kLinks);
  const answer::Answer answer = std::move(to).finish({});
  const Page page = page_of_one("job", 1, answer);
  EXPECT_TRUE(has(data_of(page), "\"node 4321\""));
  EXPECT_FALSE(has(data_of(page), "\"node 1001\""));
  EXPECT_EQ(page.rows, static_cast<int64_t>(kMostRows));
}

answer::Answer nested_answer(const std::vector<Outer>& rows) {
  answer::Builder to("sim");
  to.table("outer", "outer rows", rows, kOuter);
  to.children(
      "outer", "inner", rows, [](const Outer& row) -> const auto& { return row.inner; }, kInner);
  return std::move(to).finish({});
}

TEST(Page, NamesTheOuterRowOfNestedRows) {
  const answer::Answer answer = nested_answer({{"a", {5, 6}}, {"b", {}}, {"c", {7}}});
  const std::string data = data_of(page_of_one("job", 1, answer));
  EXPECT_TRUE(has(data, "\"cells\": [0,0,2]}"));
  EXPECT_TRUE(has(data, "\"cells\": [5,6,7]}"));
  EXPECT_TRUE(has(data, "\"parent\": \"outer\""));
}

TEST(Page, HasBothJobsAndAnswersAboutBoth) {
  const answer::Answer a = answer_of({{0, 5}}, {}), b = answer_of({{0, 6}}, {}), both = answer_of({{0, 11}}, {});
  const std::array<Subject, 2> subjects{Subject{"one", 3, {{&a, "chakra a"}}}, Subject{"two", 4, {{&b}}}};
  const std::array<Part, 1> parts{Part{&both}};
  const Page page = page_of(subjects, parts).value();
  const std::string data = data_of(page);
  EXPECT_EQ(page.ranks, 7);
  EXPECT_LT(data.find("\"one\""), data.find("[5]"));
  EXPECT_LT(data.find("[5]"), data.find("\"two\""));
  EXPECT_LT(data.find("[6]"), data.find("[11]"));
}

// ---- timelines -------------------------------------------------------------------------------------------------

result::Timeline timeline_of(const std::vector<std::array<Picoseconds, 3>>& slices) {  // track, start, end
  result::Timeline timeline;
  timeline.tracks = {{3, "stream <0>"}, {4, "thread"}};
  for (const auto& [track, start, end] : slices)
    timeline.slices.push_back({static_cast<uint32_t>(track), timeline.strings.intern("op " + std::to_string(start)), 0,
                               start, end, timeline.slices.size()});
  return timeline;
}

TEST(Page, MovesSlicesThatOverlapToTheNextLane) {
  // Track 0: an outer slice with two inside, and one that follows. Track 1: two that overlap.
  const result::Timeline timeline = timeline_of({{0, 5'000, 9'000},
                                                 {0, 1'000, 9'000},
                                                 {0, 2'000, 5'000},
                                                 {0, 9'000, 9'000},
                                                 {1, 4'000, 5'000},
                                                 {1, 4'500, 5'500}});
  const Subject subject{"job", 1, {}, &timeline};
  const Page page = page_of({&subject, 1}).value();
  const std::string data = data_of(page);
  EXPECT_EQ(page.slices, 6);
  EXPECT_TRUE(has(data, "\"unit_ps\": 500"));
  EXPECT_TRUE(has(data, R"({"rank": 3, "depth": 0, "track": "stream \u003c0\u003e", "slices": 2})"));
  EXPECT_TRUE(has(data, R"({"rank": 3, "depth": 1, "track": "stream \u003c0\u003e", "slices": 2})"));
  EXPECT_TRUE(has(data, R"({"rank": 4, "depth": 0, "track": "thread", "slices": 1})"));
  EXPECT_TRUE(has(data, R"({"rank": 4, "depth": 1, "track": "thread", "slices": 1})"));
  EXPECT_TRUE(
      has(data, "\"names\": [\"op 1000\",\n\"op 9000\",\n\"op 2000\",\n\"op 5000\",\n\"op 4000\",\n\"op 4500\"]"));
}

/// The value of a member that is a text.
std::string member_of(const std::string& data, const std::string& key) {
  const size_t begin = data.find("\"" + key + "\": \"") + key.size() + 5;
  return data.substr(begin, data.find('"', begin) - begin);
}

TEST(Page, RoundsTimesOfTimelinesIfItWouldBeTooLarge) {
  // The same work in picoseconds and, each time to the nearest nanosecond since the first start, in nanoseconds.
  constexpr Picoseconds kFirst = 777;
  result::Timeline fine = timeline_of({}), coarse = timeline_of({});
  SliceLinks of_fine{{}, {}, {}, "rank 3"}, of_coarse = of_fine;
  const StringId op = fine.strings.intern("op"), same = coarse.strings.intern("op");
  std::mt19937_64 random(4);
  for (Picoseconds time = 0; fine.slices.size() < 1'000;) {
    const Picoseconds start = time, end = start + static_cast<Picoseconds>(1'000 + random() % 8'000);
    const auto near = [](Picoseconds exact) { return (exact + 500) / 1'000 * 1'000; };
    const auto place = static_cast<uint32_t>(fine.slices.size());
    fine.slices.push_back({0, op, 0, kFirst + start, kFirst + end, place});
    coarse.slices.push_back({0, same, 0, near(start), near(end), place});
    of_fine.path.push_back({place, kFirst + start, kFirst + end});
    of_coarse.path.push_back({place, near(start), near(end)});
    time = end + static_cast<Picoseconds>(random() % 4 == 0 ? 0 : random() % 5'000);
  }
  const Subject subject{"job", 1, {}, &fine, &of_fine}, rounded{"job", 1, {}, &coarse, &of_coarse};
  const Page exact = page_of({&subject, 1}).value();
  EXPECT_EQ(exact.exact_bytes, 0U);
  EXPECT_TRUE(has(data_of(exact), R"("unit_ps": 1, "rounded": false)"));
  EXPECT_EQ(page_of({&subject, 1}, {}, exact.html.size()).value().html, exact.html);
  const Page small = page_of({&subject, 1}, {}, exact.html.size() - 1).value();
  EXPECT_EQ(small.exact_bytes, exact.html.size());
  EXPECT_LT(small.html.size() + 2'000, exact.html.size());  // ten bits less for each of 4,000 numbers, and base 64
  const std::string data = data_of(small), wanted = data_of(page_of({&rounded, 1}).value());
  EXPECT_TRUE(has(data, R"("unit_ps": 1000, "rounded": true)"));
  EXPECT_TRUE(has(wanted, R"("unit_ps": 1000, "rounded": false)"));
  EXPECT_EQ(member_of(data, "bytes"), member_of(wanted, "bytes"));
  EXPECT_EQ(member_of(data, "links"), member_of(wanted, "links"));
  // Whole nanoseconds cannot be rounded.
  const Page whole = page_of({&rounded, 1}, {}, 1).value();
  EXPECT_EQ(whole.exact_bytes, 0U);
  EXPECT_EQ(data_of(whole), wanted);
}

TEST(Page, NamesTheKindsOfArrowsAndCountsLinks) {
  result::Timeline timeline = timeline_of({{0, 5'000, 9'000}, {0, 1'000, 2'000}, {1, 4'000, 5'000}});
  const StringId data_kind = timeline.strings.intern("<data>"), message = timeline.strings.intern("message");
  const SliceLinks links{
      {{0, 1, message}, {1, 0, data_kind}, {1, 2, message}}, {{0, 2}}, {{1, 1'250, 2'000}}, "rank <3>"};
  const Subject subject{"job", 1, {}, &timeline, &links};
  const std::string data = data_of(page_of({&subject, 1}).value());
  EXPECT_TRUE(has(data, R"("arrows": 3, "collectives": 1, "path": 1, "path_of": "rank \u003c3\u003e")"));
  EXPECT_TRUE(has(data, R"("kinds": ["message", "\u003cdata\u003e"])"));
  EXPECT_TRUE(has(data, "\"unit_ps\": 250"));  // also of the path
}

TEST(Page, OfAnEmptyTimelineHasNoLanes) {
  const result::Timeline timeline;
  const Subject subject{"job", 1, {}, &timeline};
  const Page page = page_of({&subject, 1}).value();
  EXPECT_EQ(page.slices, 0);
  EXPECT_TRUE(has(data_of(page), "\"lanes\": []"));
}

// ---- workbooks -------------------------------------------------------------------------------------------------

TEST(Workbook, IsTheSameForTheSameAnswers) {
  const answer::Answer answer = nested_answer({{"a", {5, int64_t{1} << 60}}, {"=1+1", {-(int64_t{1} << 60)}}});
  const Subject subject{"job", 1, {{&answer}}};
  const Workbook book = workbook_of({&subject, 1}).value();
  EXPECT_EQ(book.sheets, 6);  // contents, values, findings, columns, and two tables
  EXPECT_EQ(book.rows, 2 + 3);
  EXPECT_EQ(book.numbers_as_texts, 2);
  EXPECT_EQ(book.texts_cut, 0);
  EXPECT_EQ(book.bytes, workbook_of({&subject, 1}).value().bytes);
}

TEST(Workbook, HasNumbersOfAtMost15Digits) {
  constexpr int64_t kLarge = 1'000'000'000'000'000;
  const answer::Answer answer = nested_answer({{"a", {kLarge - 1, 1 - kLarge}}, {"b", {kLarge, -kLarge}}});
  const Subject subject{"job", 1, {{&answer}}};
  EXPECT_EQ(workbook_of({&subject, 1}).value().numbers_as_texts, 2);
}

TEST(Workbook, CutsTextsThatACellCannotHold) {
  const answer::Answer answer = nested_answer({{std::string(40'000, 'x'), {}}});
  const Subject subject{"job", 1, {{&answer}}};
  EXPECT_EQ(workbook_of({&subject, 1}).value().texts_cut, 1);
}

}  // namespace
}  // namespace chakra::report
