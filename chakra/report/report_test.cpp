#include "chakra/report/report.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace chakra::report {
namespace {

using answer::column;
using answer::Unit;

struct Path {
  int64_t rank, length;
};
struct Part {
  int64_t rank;
  std::string name;
};
struct Problem {
  std::string evidence;
  int64_t row;
};
constexpr std::array kPaths{column<&Path::rank>("rank", Unit::id, "rank"),
                            column<&Path::length>("length_ps", Unit::ps, "length of the path")};
constexpr std::array kParts{column<&Part::rank>("rank", Unit::id, "rank"),
                            column<&Part::name>("name", Unit::none, "name of the part")};
constexpr std::array kProblems{column<&Problem::evidence>("evidence", Unit::none, "a table"),
                               column<&Problem::row>("row", Unit::id, "a row of that table")};

answer::Answer answer_of(const std::vector<Path>& paths, const std::vector<Part>& parts,
                         const std::vector<Problem>& problems = {}) {
  answer::Builder to("analyze");
  to.table("critical_path", "critical path", paths, kPaths);
  to.table("parts", "parts", parts, kParts);
  to.table("diagnosis", "diagnosis", problems, kProblems);
  return std::move(to).finish({});
}

std::string data_of(const Page& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.html.find(begin) + begin.size();
  return page.html.substr(at, page.html.find("</script>", at) - at);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Page, KeepsTextsInsideOfTheirElement) {
  const answer::Answer answer = answer_of({{0, 1}}, {{0, "</script><b>&amp;\xE2\x80\xA8\xE2\x80\xA9\xFF\x01"}});
  const Page page = page_of({"<job>", 1, {&answer}});
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
      has(data_of(page_of({"job", 3, {&answer}})), R"([9007199254740991,"9007199254740992","-9007199254740992"])"));
}

TEST(Page, CutsLongTextsBetweenCharacters) {
  std::string text = "x";
  while (text.size() < 1'000'000) text += "\u00e9";
  const answer::Answer answer = answer_of({}, {{0, text}});
  const Page page = page_of({"job", 1, {&answer}});
  EXPECT_EQ(page.texts_cut, 1);
  EXPECT_TRUE(has(data_of(page), "\u00e9... (1000001 bytes)"));
  EXPECT_FALSE(has(data_of(page), "\uFFFD"));
}

TEST(Page, OfManyRanksHasTheExtremesAndTheEvidenceAndIsSmall) {
  constexpr int64_t kRanks = 10'000;
  std::vector<Path> paths;
  std::vector<Part> parts;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    paths.push_back({rank, 1'000'000 + (rank * 7919) % kRanks});  // each length once
    for (int part = 0; part < 20; ++part) parts.push_back({rank, "part " + std::to_string(part)});
  }
  const answer::Answer answer = answer_of(paths, parts, {{"parts", 199'999}, {"parts", 4'000'000}, {"none", 1}});
  const Page page = page_of({"job", kRanks, {&answer}});
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
  const Page page = page_of({"job", 2, {&answer}});
  EXPECT_EQ(page.rows, 4);
  EXPECT_EQ(page.rows_omitted, 0);
  EXPECT_EQ(page.tables, 2);
  EXPECT_TRUE(has(data_of(page), "\"cells\": [0,7]"));
}

}  // namespace
}  // namespace chakra::report
