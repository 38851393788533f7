// Names of the files of a run.
#include "chakra/run/outputs.h"

#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/generate.h"

namespace chakra::run {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

TEST(Outputs, OfAReplayAreNamedByRankAndReplaceNoInput) {
  const TemporaryFolder folder;
  const std::string job = folder.path("job");
  ASSERT_TRUE(generate::write_cases({.output = job, .ranks = 2, .cases = {}}));
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
}  // namespace chakra::run
