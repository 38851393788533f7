// A recorded job against its own measurement, by truth worked out by hand.
#include <gtest/gtest.h>

#include "chakra/recorded/recorded.h"
#include "chakra/sim/testing/recorded_ranks.h"

namespace chakra::recorded {
namespace {

using sim::testing::input_of;
using sim::testing::job;
using sim::testing::Rank;

constexpr Picoseconds kUs = kPsPerUs;

TEST(JobReplay, NeedsClocksThatSomethingJoins) {
  constexpr trace::CommType kType = trace::CommType::all_reduce;
  EXPECT_FALSE(JobReplay::possible(job(std::move(Rank(0).start(0).comp(0, 10).coll(kType, 10, 45)),
                                       std::move(Rank(1).comp(0, 30).coll(kType, 30, 7)))));
}

TEST(JobReplay, TheJobIsComparedAsAWholeAndByRank) {
  const auto made = [] {
    return job(std::move(Rank(0).start(0).comp(0, 10).coll(trace::CommType::all_reduce, 10, 47).comp(57, 5)),
               std::move(Rank(1).start(20).comp(0, 30).coll(trace::CommType::all_reduce, 30, 7).comp(37, 8)));
  };
  const trace::TraceSet set = made();
  ASSERT_TRUE(JobReplay::possible(set));
  JobReplay replay = *JobReplay::measure(set);
  Findings findings;
  ASSERT_TRUE(replay_recorded(input_of(made()), replay, findings));
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(replay.job().measured_ps, 65 * kUs);
  EXPECT_EQ(replay.job().run(TransferKind::recorded), 65 * kUs);
  EXPECT_FALSE(replay.job().has(TransferKind::simulated));
  EXPECT_EQ(replay.ranks()[0].times.measured_ps, 62 * kUs);
  EXPECT_EQ(replay.ranks()[0].times.run(TransferKind::recorded), 62 * kUs);
  EXPECT_EQ(replay.ranks()[1].times.measured_ps, 45 * kUs);
  EXPECT_EQ(replay.ranks()[1].times.run(TransferKind::recorded), 45 * kUs);
  EXPECT_TRUE(replay.findings().empty());
}

TEST(JobReplay, AGraphThatIsOffIsAWarning) {
  // The second compute began 30 after the collective had ended, and nothing says why: 95 were measured, 65 come out.
  const auto made = [] {
    return job(std::move(Rank(0).start(0).comp(0, 10).coll(trace::CommType::all_reduce, 10, 47).comp(57, 5)),
               std::move(Rank(1).start(20).comp(0, 30).coll(trace::CommType::all_reduce, 30, 7).comp(67, 8)));
  };
  JobReplay replay = *JobReplay::measure(made());
  Findings findings;
  ASSERT_TRUE(replay_recorded(input_of(made()), replay, findings));
  EXPECT_EQ(replay.job().measured_ps, 95 * kUs);
  EXPECT_EQ(replay.job().run(TransferKind::recorded), 65 * kUs);
  ASSERT_EQ(replay.findings().size(), 1u);
  EXPECT_EQ(replay.findings()[0].tag, "sim.job.error");
}

}  // namespace
}  // namespace chakra::recorded
