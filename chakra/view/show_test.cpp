// Rows of texts: what they show of an answer, and that they add nothing to it.
#include "chakra/view/show.h"

#include <gtest/gtest.h>

#include <limits>

#include "chakra/view/template.h"

namespace chakra::view {
namespace {

using answer::column;
using answer::Missing;
using answer::rows;
using answer::Unit;

struct Part {
  std::string what;
};
struct Thing {
  std::string kind;
  int64_t time_ps = 0;
  uint64_t bytes = 0;
  std::optional<double> error = {};
  std::optional<int64_t> actor = {};
  std::vector<Part> parts = {};
};
struct Whole {
  std::string mode;
  int64_t all_ps = 0, none_ps = 0;
  bool stopped = false;
  std::optional<double> mfu = {};
};
constexpr std::array kWhole{column<&Whole::mode>("mode", Unit::none, "how"),
                            column<&Whole::all_ps>("all_ps", Unit::ps, "how long"),
                            column<&Whole::none_ps>("none_ps", Unit::ps, "nothing"),
                            column<&Whole::stopped>("stopped", Unit::none, "cut short"),
                            column<&Whole::mfu>("rates.mfu", Unit::share, "of the peak", Missing::left_out)};
constexpr std::array kThings{column<&Thing::kind>("kind", Unit::none, "what"),
                             column<&Thing::time_ps>("time_ps", Unit::ps, "how long"),
                             column<&Thing::bytes>("bytes", Unit::bytes, "how large"),
                             column<&Thing::error>("error", Unit::share, "how far off"),
                             column<&Thing::actor>("actor", Unit::id, "who", Missing::left_out),
                             rows<Thing>("parts", "of what", [](const Thing& t) { return !t.parts.empty(); })};
constexpr std::array kParts{column<&Part::what>("what", Unit::none, "what")};

answer::Answer answer_of(const std::vector<Thing>& things, const Whole& whole, Findings findings = {}) {
  answer::Builder to("test");
  to.values("", &whole, kWhole);
  to.table("things", "things", things, kThings);
  to.children(
      "things", "parts", things, [](const auto& t) -> const auto& { return t.parts; }, kParts);
  return std::move(to).finish(std::move(findings));
}
answer::Answer some() {
  return answer_of({{"send", 2000, 1024, 0.5, 0, {{"head"}, {"=tail,"}}},
                    {"send", 2000, 1024, {}, 0},
                    {"wait", 6000, 0, {}, 1},
                    {"send", 1000, 1024, std::numeric_limits<double>::quiet_NaN(), 2, {{"x"}}}},
                   {"fast", 10'000, 0, false, {}});
}

std::string line(std::string_view text) {
  const std::array<Show, 1> shows{{{.line = text}}};
  return to_text(some(), {shows, "a/job"});
}

TEST(Show, LinesShowValuesWithTheirUnits) {
  EXPECT_EQ(line("{subject}: {all_ps}, {mode}, {stopped}, {#things} things"), "a/job: 10.00 ns, fast, no, 4 things\n");
  EXPECT_EQ(line("{+all_ps} {+none_ps} {all_ps/all_ps} {+all_ps/all_ps}"), "+10.00 ns 0 s 100.00 % +100.00 %\n");
  EXPECT_EQ(line("{things.time_ps..}; {things.kind*}; {things.kind*error}"),
            "1.000 ns to 6.000 ns; send, wait; send\n");
}

TEST(Show, WhatIsMissingTakesItsPartAlong) {
  EXPECT_EQ(line("a {rates.mfu}"), "");                            // the line
  EXPECT_EQ(line("a[ {rates.mfu}] b"), "a b\n");                   // its brackets
  EXPECT_EQ(line("a [{rates.mfu}|{mode}|{all_ps}]"), "a fast\n");  // for the next
  EXPECT_EQ(line("a [x[ {rates.mfu}] {mode}]"), "a x fast\n");     // inner ones alone
  EXPECT_EQ(line("a [!{rates.mfu}|{no.such}]"), "");               // one of them is needed
  EXPECT_EQ(line("a {all_ps/none_ps}"), "");                       // a share of nothing
  EXPECT_EQ(line("[{?stopped}stopped|finished][{?none_ps} x][{?mode=fast}, fast][{?mode=slow}, slow]"),
            "finished, fast\n");
  EXPECT_EQ(line("[{rates.mfu}]"), "");
}

TEST(Show, TextsOfAnAnswerStayOnTheirLine) {
  const std::array<Show, 1> shows{{{.line = "{mode}\n{subject}"}}};
  EXPECT_EQ(to_text(answer_of({}, {"a\nb\x1b[2J"}), {shows, "x\ty"}), "a\\x0ab\\x1b[2J\nx\\x09y\n");
}

constexpr std::array<ShowColumn, 5> kColumns{{
    {.key = "kind", .heading = "kind", .alike = true},
    {.key = "time_ps", .heading = "time", .share = "all_ps", .bar = true},
    {.key = "bytes", .heading = "size", .share = "*", .hide = Hide::zero},
    {.key = "+error", .heading = "off", .hide = Hide::missing},
    {.key = "{kind}[ off by {error}]", .heading = "said"},
}};

TEST(Show, TablesHaveSharesBarsAndARank) {
  const std::array<Show, 1> shows{{{.table = "things", .first = 2, .ranked = "time_ps", .columns = kColumns}}};
  EXPECT_EQ(to_text(some(), {shows, ""}),
            "\n"
            "  kind      time                                    size                off  said\n"
            "  wait  6.000 ns  60.00 %  ####################      0 B   0.00 %         -  wait\n"
            "  send  2.000 ns  20.00 %  #######               1.0 KiB  33.33 %  +50.00 %  send off by 50.00 %\n"
            "  ... and 2 more rows; '--all things' shows them\n");
}

TEST(Show, RowsThatAreAlikeAreOne) {
  const std::array<Show, 1> shows{{{.table = "things", .fold = "actor", .columns = kColumns}}};
  const std::string text = to_text(some(), {shows, ""});
  EXPECT_NE(text.find("  send (and 1 identical)  2.000 ns"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  // Where the column is missing, each row stands alone.
  const std::string apart = to_text(answer_of({{"a"}, {"a"}}, {}), {shows, ""});
  EXPECT_EQ(std::count(apart.begin(), apart.end(), '\n'), 4) << apart;
  EXPECT_EQ(apart.find("off"), apart.rfind("off")) << "hidden where missing in every row: " << apart;
  EXPECT_EQ(apart.find("size"), std::string::npos) << "hidden where 0 in every row: " << apart;
}

TEST(Show, SumsOfRowsWithTheSameTextAddUp) {
  static constexpr std::array<ShowColumn, 3> kSums{{{.key = "{kind}", .heading = "kind"},
                                                    {.key = "#", .heading = "rows"},
                                                    {.key = "time_ps", .heading = "time", .share = "all_ps"}}};
  const std::array<Show, 1> shows{{{.table = "things", .sum = true, .ranked = "time_ps", .columns = kSums}}};
  EXPECT_EQ(to_text(some(), {shows, ""}),
            "\n"
            "  kind  rows      time\n"
            "  wait     1  6.000 ns  60.00 %\n"
            "  send     3  5.000 ns  50.00 %\n");
  // A sum that no whole number holds is not a smaller one.
  const auto huge = answer_of({{"a", 1, UINT64_MAX}, {"a", 1, UINT64_MAX}}, {});
  static constexpr std::array<ShowColumn, 2> kBytes{
      {{.key = "{kind}", .heading = "kind"}, {.key = "bytes", .heading = "size"}}};
  const std::array<Show, 1> of_bytes{{{.table = "things", .sum = true, .columns = kBytes}}};
  EXPECT_NE(to_text(huge, {of_bytes, ""}).find("32768.0 PiB"), std::string::npos) << to_text(huge, {of_bytes, ""});
}

TEST(Show, JoinedTablesShareTheirColumns) {
  static constexpr std::array<ShowColumn, 2> kJob{
      {{.key = "[all]", .heading = "what"}, {.key = "mfu", .heading = "n"}}};
  static constexpr std::array<ShowColumn, 2> kEach{{{.key = "{kind}"}, {.key = "error"}}};
  const std::array<Show, 2> shows{
      {{.table = "rates.", .columns = kJob}, {.table = "things", .joined = true, .first = 1, .columns = kEach}}};
  EXPECT_EQ(to_text(answer_of({{"a", 0, 0, 0.5}}, {"", 0, 0, false, 0.25}), {shows, ""}),
            "\n  what        n\n  all   25.00 %\n  a     50.00 %\n");
  EXPECT_EQ(to_text(answer_of({{"a", 0, 0, 0.5}}, {}), {shows, ""}), "\n  what        n\n  a     50.00 %\n");
  EXPECT_EQ(to_text(answer_of({}, {}), {shows, ""}), "");
}

TEST(Show, RowsAreLinesWithWhatBelongsToThem) {
  static constexpr std::array<ShowColumn, 1> kWhat{{{.key = "what", .heading = "part"}}};
  static constexpr std::array<Show, 3> kInside{{{.line = "  {time_ps}[, {?#parts}{#parts} parts]"},
                                                {.line = "  - {what} of {#}", .table = "parts", .first = 1},
                                                {.table = "parts", .columns = kWhat}}};
  static constexpr Text kOfEach{kInside};
  const std::array<Show, 1> shows{{{.line = "{kind}", .table = "things", .inside = &kOfEach, .first = 2}}};
  EXPECT_EQ(to_text(some(), {shows, ""}),
            "send\n  2.000 ns, 2 parts\n  - head of 1\n  ... and 1 more row; '--all things.parts' shows it\n"
            "\n  part\n  head\n  =tail,\n"
            "send\n  2.000 ns\n  ... and 2 more rows; '--all things' shows them\n");
  const std::array<Show, 1> some_of_them{{{.line = "{time_ps}", .table = "things", .only = "error"}}};
  EXPECT_EQ(to_text(some(), {some_of_them, ""}), "2.000 ns\n");
  const std::array<Show, 2> when{{{.when = "{?stopped}", .line = "{kind}", .table = "things"},
                                  {.when = "{?mode}", .line = "{kind}", .table = "things", .first = 3}}};
  EXPECT_EQ(to_text(some(), {when, ""}), "send\nsend\nwait\n  ... and 1 more row; '--all things' shows it\n");
  const std::array<Show, 1> bad{{{.when = "{?no}", .line = "{x}", .table = "things", .inside = &kOfEach, .only = "y"}}};
  EXPECT_EQ(defects(bad, answer_of({}, {})), (std::vector<std::string>{"no", "things.x", "things.y"}));
}

struct Job {
  Findings findings;
  std::vector<std::pair<std::string, int64_t>> kinds;
};
constexpr std::array kCounted{
    column<Job>("findings", Unit::count, "how many", [](const Job& j) { return j.findings.size(); }),
    rows<Job>("kinds", "by kind")};
constexpr std::array kHolding{rows<Job>("findings", "about it"), rows<Job>("kinds", "by kind")};
constexpr std::array kKinds{
    column<std::pair<std::string, int64_t>>("", Unit::none, "what", [](const auto& kind) { return kind.first; }),
    column<std::pair<std::string, int64_t>>("", Unit::ps, "how long", [](const auto& kind) { return kind.second; })};

TEST(Show, FindingsAndObjectsBelongToTheirRow) {
  const std::vector<Job> jobs{{{{"a.b", Severity::error, -1, -1, "bad"}, {"a.c", Severity::note, -1, -1, "so"}}, {}},
                              {{}, {{"data", 2000}, {"comm", 5}}},
                              {{{"a.d", Severity::note, -1, -1, "last"}}, {}}};
  static constexpr std::array<Show, 1> kInside{{{.findings = true}}};
  static constexpr Text kOfEach{kInside};
  const std::array<Show, 1> shows{{{.line = "job ({kinds*})", .table = "jobs", .inside = &kOfEach}}};
  const auto answer = [&](const auto& columns, auto add) {
    answer::Builder to("test");
    to.table("jobs", "jobs", jobs, columns);
    to.children(
        "jobs", "kinds", jobs, [](const Job& j) -> const auto& { return j.kinds; }, kKinds);
    return add(to);
  };
  const std::string expected =
      "job ()\n  note: so [a.c]\n  error: bad [a.b]\njob (data 2.000 ns, comm 5 ps)\njob ()\n  note: last [a.d]\n";
  const answer::Answer counted = answer(kCounted, [&](answer::Builder& to) {
    Findings all;
    for (const Job& job : jobs) all.insert(all.end(), job.findings.begin(), job.findings.end());
    return std::move(to).finish(all);
  });
  EXPECT_EQ(to_text(counted, {shows, ""}), expected);
  const answer::Answer holding = answer(kHolding, [&](answer::Builder& to) {
    to.child_findings(
        "jobs", "findings", jobs, [](const Job& j) -> const auto& { return j.findings; });
    return std::move(to).finish();
  });
  EXPECT_EQ(to_text(holding, {shows, ""}), expected);
  EXPECT_EQ(defects(shows, holding), std::vector<std::string>());
}

TEST(Show, AllTablesThatHaveHeadings) {
  const auto table = [](std::string_view key) {
    answer::Series series({key, answer::Type::whole, Unit::ps, "how long", Missing::null, false, "time"});
    for (const int64_t time : {1000, 2000, 3000}) series.add_whole(time);
    return series;
  };
  answer::Builder to("test");
  to.table("a", "times of a", {table("a_ps")});
  to.table("empty", "none", {}, true);
  to.table("long", "too long", {table("b_ps")}, true, true);
  to.table("part.b", "times of b", {table("b_ps")});
  to.findings("part.findings", "of a part", {{"a.b", Severity::error, -1, -1, "broken"}});
  const answer::Answer answer = std::move(to).finish();
  const std::array<Show, 3> shows{
      {{.table = "*", .first = 2}, {.table = "part.*"}, {.table = "part.findings", .findings = true}}};
  EXPECT_EQ(to_text(answer, {shows}),
            "\nTimes of a\n      time\n  1.000 ns\n  2.000 ns\n  ... and 1 more row; '--all a' shows it\n"
            "\nTimes of b\n      time\n  1.000 ns\n  2.000 ns\n  3.000 ns\nerror: broken [a.b]\n");
  EXPECT_EQ(defects(shows, answer), std::vector<std::string>());
}

TEST(Show, ARowKnowsTheRowsThatItBelongsTo) {
  static constexpr std::array<ShowColumn, 2> kPartColumns{
      {{.key = "what", .heading = "what"}, {.key = "kind", .heading = "of"}}};
  static constexpr std::array<Show, 1> kInside{{{.line = " {what} of {kind}, {mode} {.mode}", .table = "parts"}}};
  static constexpr Text kOf{kInside};
  const std::array<Show, 2> shows{{{.line = "{kind}: {parts*}", .table = "things", .inside = &kOf, .first = 3},
                                   {.table = "things.parts", .columns = kPartColumns}}};
  EXPECT_EQ(to_text(some(), {shows}),
            "send: head, =tail,\n head of send, fast fast\n =tail, of send, fast fast\n"
            "  ... and 1 more row; '--all things' shows it\n"
            "\n  what    of\n  head    send\n  =tail,  send\n  x       send\n");
  EXPECT_EQ(defects(shows, some()), std::vector<std::string>());
}

TEST(Show, TheMostSevereFindingStandsLast) {
  const std::array<Show, 1> shows{{{.findings = true}}};
  const Findings findings{{"a.b", Severity::error, -1, -1, "broken"},
                          {"a.c", Severity::note, -1, -1, "so"},
                          {"a.d", Severity::warning, 1, 2, "odd"},
                          {"a.e", Severity::note, -1, -1, "also"}};
  EXPECT_EQ(to_text(answer_of({}, {}, findings), {shows, ""}),
            "note: so [a.c]\nnote: also [a.e]\nwarning: rank 1: node 2: odd [a.d]\nerror: broken [a.b]\n");
}

TEST(Show, AllOfATableIsThere) {
  const answer::Answer answer = some();
  EXPECT_EQ(to_text(answer, *answer.table("things")),
            "  kind      time    bytes    error  actor  parts\n"
            "  send  2.000 ns  1.0 KiB  50.00 %      0      2\n"
            "  send  2.000 ns  1.0 KiB        -      0      0\n"
            "  wait  6.000 ns      0 B        -      1      0\n"
            "  send  1.000 ns  1.0 KiB        -      2      1\n");
  EXPECT_EQ(to_text(answer, *answer.table("things.parts")), "  row  what\n    0  head\n    0  =tail,\n    3  x\n");
}

std::string csv(const answer::Table& table) {
  std::string out;
  EXPECT_TRUE(write_csv(table, [&](std::string_view piece) -> Result<void> {
    out += piece;
    return {};
  }));
  return out;
}

TEST(Show, CsvIsExact) {
  const answer::Answer answer = some();
  EXPECT_EQ(csv(*answer.table("things")),
            "kind,time_ps,bytes,error,actor\nsend,2000,1024,0.5,0\nsend,2000,1024,,0\nwait,6000,0,,1\n"
            "send,1000,1024,,2\n");
  EXPECT_EQ(csv(*answer.table("things.parts")), "row,what\n0,head\n0,\"'=tail,\"\n3,x\n");
  EXPECT_EQ(csv(*answer_of({{"a", INT64_MIN, UINT64_MAX, 0.1}}, {}).table("things")),
            "kind,time_ps,bytes,error,actor\na,-9223372036854775808,18446744073709551615,0.1,\n");
}

TEST(Show, RowsThatAskForWhatNoAnswerHasAreFound) {
  const answer::Answer schema = answer_of({}, {});
  static constexpr std::array<ShowColumn, 4> kBad{{{.key = "{kin}", .heading = "top 10"},
                                                   {.key = "time", .heading = ""},
                                                   {.key = "bytes", .share = "all"},
                                                   {.key = "{things.mfu..}"}}};
  const std::array<Show, 3> shows{{{.line = "of 5 [{mode}|{mod}]{rates.mfu/x} {#thing}"},
                                   {.table = "things", .fold = "kind,acto", .ranked = "tim", .columns = kBad},
                                   {.table = "thing"}}};
  EXPECT_EQ(defects(shows, schema),
            (std::vector<std::string>{"of 5 [{mode}|{mod}]{rates.mfu/x} {#thing}", "mod", "x", "thing", "top 10",
                                      "things.kin", "things.time", "things.all", "things.mfu", "things.acto",
                                      "things.tim", "thing"}));
  const std::array<Show, 2> good{
      {{.line = "{mode} {things.time_ps..}{?mode=x1}"}, {.table = "things", .columns = kColumns}}};
  EXPECT_EQ(defects(good, schema), std::vector<std::string>());
}

}  // namespace
}  // namespace chakra::view
