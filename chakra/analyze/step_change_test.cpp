#include "chakra/analyze/analyze.h"

#include <gtest/gtest.h>

namespace chakra::analyze {
namespace {

DiagnosedJob job(Picoseconds step, double spread, std::vector<Diagnosis> rows) {
  DiagnosedJob j;
  j.step = step, j.spread = spread, j.steps = 5;
  j.diagnoses.rows = std::move(rows);
  return j;
}
Diagnosis problem(std::string_view kind, Picoseconds cost, double share, std::string sentence = "s") {
  return {kind, "rank 1", cost, share, {"time", 0}, std::move(sentence)};
}

TEST(StepChange, FailsBeyondTheLargerOfTheLimitAndTwiceTheSpread) {
  const DiagnosedJob before = job(1000, 0.01, {});
  EXPECT_FALSE(step_change(before, job(1030, 0, {}), 3).longer);
  EXPECT_TRUE(step_change(before, job(1031, 0, {}), 3).longer);
  EXPECT_FALSE(step_change(before, job(1031, 0.02, {}), 3).longer) << "twice the spread of b is 4 %";
  EXPECT_TRUE(step_change(before, job(1041, 0.02, {}), 3).longer);
  EXPECT_FALSE(step_change(before, job(500, 0, {}), 3).longer) << "a shorter step is no failure";
  EXPECT_FALSE(step_change(before, job(5000, 0, {}), {}).longer) << "no limit was given";
  EXPECT_TRUE(step_change(job(0, 0, {}), job(5000, 0, {}), 3).longer) << "a has no time";
}

TEST(StepChange, ListsChangedDiagnosesAlone) {
  const DiagnosedJob before =
      job(1000, 0, {problem("slow_rank", 100, 0.10), problem("host_bound", 80, 0.08), problem("no_overlap", 50, 0.05)});
  const DiagnosedJob after = job(
      1000, 0, {problem("slow_rank", 300, 0.30), problem("no_overlap", 52, 0.052), problem("memory_peak", 40, 0.04)});
  const StepChange change = step_change(before, after, 3);
  ASSERT_EQ(change.rows.size(), 3u);
  EXPECT_EQ(change.rows[0].kind, "slow_rank");
  EXPECT_EQ(change.rows[0].change, "larger");
  EXPECT_EQ(change.rows[1].kind, "host_bound");
  EXPECT_EQ(change.rows[1].change, "gone");
  EXPECT_EQ(change.rows[2].kind, "memory_peak");
  EXPECT_EQ(change.rows[2].change, "new");
  const StepChange same = step_change(before, job(1000, 0, {Diagnosis{"none", "", 0, 0, {"", 0}, "n"}}), 3);
  EXPECT_EQ(same.rows.size(), 3u) << "the row of kind none is not a problem";
}

TEST(StepChange, NamesDoNotAddMarkup) {
  const std::string hostile = "<script>alert(1)</script> **b** [l](javascript:x) `c` | a\n# h";
  const StepChange change = step_change(job(1, 0, {}), job(1, 0, {problem("slow_rank", 1, 1, hostile)}), {});
  const std::string line = markdown_of(change, {}).back();
  EXPECT_EQ(line,
            "- **new** (0 s -> 1 ps of a step): &lt;script&gt;alert(1)&lt;/script&gt; \\*\\*b\\*\\* "
            "\\[l\\](javascript:x) \\`c\\` \\| a \\# h");
}

}  // namespace
}  // namespace chakra::analyze
