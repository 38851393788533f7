// What the headers require stops where it is broken.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/replay.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::replay {
namespace {

using chakra::testing::literal;

TEST(Contract, OfPlansAndRuns) {
  trace::testing::Job job(1);
  job.compute(0, 1000);
  const trace::TraceSet set = job.finish();
  const match::Matching matching = match::match(set);
  EXPECT_DEATH((void)plan_rank(set, matching, 1), literal("rank < job.ranks.size()"));
  const auto plan = plan_rank(set, matching, 0);
  ASSERT_TRUE(plan);
  JobOptions options;
  options.backend = &kNull;
  World world;
  world.rank = 1;
  EXPECT_DEATH((void)run_one(*plan, world, options), literal("plan.trace->rank == world.rank"));
  EXPECT_DEATH((void)timeline_of({}, {RankRun{}}, options), literal("plans.size() == runs.size()"));
  EXPECT_DEATH((void)Server::start("./socket", 0), literal("ranks > 0"));
  const std::vector<feed::Queues::Turn> none(1);
  EXPECT_DEATH(feed::Queues(set.ranks[0], none), literal("turns.size() == trace.comms.size()"));
}

}  // namespace
}  // namespace chakra::replay
