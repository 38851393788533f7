// Files of results: their names, and that they appear together.
#include "chakra/job/outputs.h"

#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/job/generate.h"
#include "chakra/job/replay_outputs.h"
#include "chakra/job/view.h"

namespace chakra::job {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

TEST(Outputs, AppearWhenTheyAreCommitted) {
  const TemporaryFolder folder;
  Outputs outputs;
  ASSERT_TRUE(add_text(outputs, folder.path("a.svg"), "picture"));
  ASSERT_TRUE(add_answer(outputs, folder.path("b.json"), answer_of(ViewedJob())));
  ASSERT_TRUE(add_answer(outputs, "-", answer_of(ViewedJob())));
  answer::Series rank(answer::Info{"rank", answer::Type::whole, answer::Unit::id, "the rank"});
  rank.add(int64_t{3});
  std::vector<answer::Series> columns;
  columns.push_back(std::move(rank));
  answer::Builder to("test");
  to.table("ranks", "the ranks", std::move(columns));
  ASSERT_TRUE(add_tables(outputs, {.csv = folder.path("c"), .arrow = folder.path("c")}, std::move(to).finish()));
  EXPECT_FALSE(is_file(folder.path("a.svg")));
  ASSERT_TRUE(outputs.commit());
  for (const char* name : {"a.svg", "b.json", "c.ranks.csv", "c.ranks.arrow"})
    EXPECT_TRUE(is_file(folder.path(name))) << name;
  EXPECT_EQ(chakra::testing::must_read(folder.path("c.ranks.csv")), "rank\n3\n");
  EXPECT_FALSE(is_file("-"));
}

TEST(Outputs, OfAReplayAreNamedByRankAndReplaceNoInput) {
  const TemporaryFolder folder;
  const std::string job = folder.path("job");
  ASSERT_TRUE(write_cases({.output = job, .ranks = 2, .cases = {}}));
  ReplayOptions options;
  options.path = job + "/" + std::string(gen::cases()[0].name);
  const auto named = [&](const ReplayOutputs& outputs) {
    options.outputs = outputs;
    return replay_outputs(options);
  };
  const auto all = named({.traces = folder.path("out"), .timeline = folder.path("t.json")});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->timeline, folder.path("t.json"));
  EXPECT_EQ(tag_of(named({.timeline = folder.path("t{rank}.json")})), "cli.usage");
  EXPECT_EQ(tag_of(named({.traces = options.path})), "cli.usage");
  options.rank = 1;
  options.ranks = 2;
  EXPECT_EQ(named({.tables = {.csv = "r{rank}/x{rank}", .arrow = "a{rank}"}})->tables.csv, "r1/x1");
  EXPECT_EQ(named({.tables = {.csv = {}, .arrow = "a{rank}"}})->tables.arrow, "a1");
}

}  // namespace
}  // namespace chakra::job
