// Recorded starts, against truth worked out by hand.
#include "chakra/sim/recorded.h"

#include <gtest/gtest.h>

#include "chakra/sim/sim.h"
#include "chakra/sim/testing/recorded_ranks.h"

namespace chakra::sim {
namespace {

using testing::input_of;
using testing::job;
using testing::Rank;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr Picoseconds kUs = kPsPerUs;

TEST(Recorded, StartsAreKeptAndChecked) {
  Trace t = std::move(Rank(0).start(5, -7).comp(0, 1)).finish();
  EXPECT_EQ((*recorded_start(t))->start_ns, 5000);
  EXPECT_EQ((*recorded_start(t))->drift_ppb, -7);
  EXPECT_EQ((*recorded_start(trace::Trace(t)))->start_ns, 5000);
  set_recorded_start(t, {6000, 0});
  EXPECT_EQ((*recorded_start(t))->start_ns, 6000);
  set_recorded_start(t, {kLongestPs, 0});
  EXPECT_EQ(recorded_start(t).error().tag, "sim.start");
  set_recorded_start(t, {0, 200'000'000});
  EXPECT_EQ(recorded_start(t).error().tag, "sim.start");
}

TEST(Recorded, RanksThatBeginAtOtherTimesAreNotFolded) {
  trace::TraceSet same = job(std::move(Rank(0).comp(0, 10)), std::move(Rank(1).comp(0, 10)));
  EXPECT_EQ(trace::by_class(std::move(same)).classes.size(), 1u);
  trace::TraceSet other = job(std::move(Rank(0).start(0).comp(0, 10)), std::move(Rank(1).start(3).comp(0, 10)));
  trace::ClassJob classes = trace::by_class(std::move(other));
  EXPECT_EQ(classes.classes.size(), 2u);
  EXPECT_EQ((*recorded_start(trace::concrete(classes, 1)))->start_ns, 3000);
  SimInput input;
  input.fabric.dimensions.push_back({net::TopologyKind::switch_, 2, 1, 0});
  input.classes = std::move(classes);
  const auto report = simulate(std::move(input));
  EXPECT_EQ(report->ranks[0].finish_ps, 10 * kUs);
  EXPECT_EQ(report->ranks[1].finish_ps, 13 * kUs);
}

TEST(Recorded, StartsCountFromTheFirstRankOfTheJob) {
  SimInput input = input_of(job(std::move(Rank(0).start(70).comp(0, 10)), std::move(Rank(1).start(50).comp(0, 10))));
  const auto report = simulate(std::move(input));
  EXPECT_EQ(report->ranks[0].finish_ps, 30 * kUs);
  EXPECT_EQ(report->ranks[1].finish_ps, 10 * kUs);
}

}  // namespace
}  // namespace chakra::sim
