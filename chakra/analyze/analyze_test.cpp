#include "chakra/analyze/analyze.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chakra::analyze {
namespace {

using trace::Builder;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;

struct ClockTruth {
  double offset_ns = 0, drift_ppm = 0;
};

/// A job of all-reduces every 2 ms that all members leave within a microsecond, seen through clocks that
/// are off. Members come up to 200 us before they leave; `late` comes last, just before the end.
trace::TraceSet record(const std::vector<ClockTruth>& clocks, int collectives, size_t late, uint64_t seed,
                       int64_t late_ns = 3'000'000) {
  Prng random(seed);
  std::vector<Builder> builders(clocks.size());
  double time = 1e9;
  for (int i = 0; i < collectives; ++i) {
    time += 2e6;
    const bool held_up = i == 3 && late < clocks.size();
    const double end = time + (held_up ? static_cast<double>(late_ns) : 0);
    for (size_t r = 0; r < clocks.size(); ++r) {
      Builder& b = builders[r];
      const double start =
          held_up && r != late ? time - 100'000 : end - static_cast<double>(random.between(100'000, 101'000));
      const double leaves = end + static_cast<double>(random.between(-500, 500));
      const auto shown = [&](double t) {
        return std::llround(t + clocks[r].offset_ns + clocks[r].drift_ppm * 1e-6 * (t - 1e9));
      };
      const NodeId n = b.add(b.trace.size() + 1, 0, NodeType::coll);
      if (n > 0) b.dep(n, n - 1, 0);
      b.trace.flags[n] = trace::kHasStart | trace::kHasDuration;
      b.trace.base_ns = 0;
      b.trace.start_ps[n] = shown(start) * kPsPerNs;
      b.trace.dur_ps[n] = (shown(leaves) - shown(start)) * kPsPerNs;
      trace::Comm& comm = b.comm(n);
      comm.type = CommType::all_reduce;
      comm.bytes = 1024;
      comm.sequence = i;
    }
    time = end;
  }
  trace::TraceSet job;
  for (size_t r = 0; r < clocks.size(); ++r) {
    builders[r].trace.rank = static_cast<int64_t>(r);
    job.ranks.push_back(std::move(builders[r]).finish());
  }
  return job;
}

TEST(Clocks, AreRecoveredWithinTwoMicroseconds) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<ClockTruth> truth{{0, 0}, {5'000'000, 0}, {-123'456, 35}, {40, -20}, {0, 0}};
    const trace::TraceSet job = record(truth, 200, 99, seed);
    const JobTimes times = job_times(job, match::match(job));
    ASSERT_EQ(times.clocks.size(), truth.size());
    for (size_t r = 0; r < truth.size(); ++r) {
      EXPECT_TRUE(times.clocks[r].known);
      // Over the whole recording of 0.4 s.
      for (const double t : {0.0, 2e8, 4e8}) {
        const double expected = truth[r].offset_ns + truth[r].drift_ppm * 1e-6 * t;
        const double found = times.clocks[r].offset_ns + times.clocks[r].drift_ppm * 1e-6 * t;
        EXPECT_NEAR(found, expected, 2'000) << "rank " << r << ", seed " << seed << ", after " << t << " ns";
      }
      EXPECT_LT(times.clocks[r].uncertainty_ns, 2'000);
    }
    EXPECT_TRUE(times.stragglers.empty());
  }
}

TEST(Clocks, TwoCollectivesGiveAnOffsetAndNoDrift) {
  const trace::TraceSet job = record({{0, 0}, {-7'000'000, 0}}, 2, 99, 1);
  const JobTimes times = job_times(job, match::match(job));
  EXPECT_NEAR(times.clocks[1].offset_ns, -7'000'000, 2'000);
  EXPECT_EQ(times.clocks[1].drift_ppm, 0);
}

TEST(Stragglers, TheLateRankIsNamed) {
  const trace::TraceSet job = record({{0, 0}, {5'000'000, 10}, {-3'000, 0}}, 50, 2, 7);
  const JobTimes times = job_times(job, match::match(job));
  ASSERT_FALSE(times.stragglers.empty());
  EXPECT_EQ(times.stragglers[0].rank, 2);
  EXPECT_EQ(times.stragglers[0].last_at, 1);
  EXPECT_NEAR(times.stragglers[0].waited_ns, 3'000'000, 5'000);
  ASSERT_EQ(times.collectives.size(), 1u);
  EXPECT_EQ(times.collectives[0].count, 50);
  EXPECT_NEAR(times.collectives[0].wait_ns, 3'000'000 * 2 / 3.0, 60'000);
  EXPECT_NEAR(times.collectives[0].transfer_ns, 50 * 100'500, 60'000);
}

TEST(Clocks, RanksWithoutCommonCollectivesStayUnknown) {
  trace::TraceSet job = record({{0, 0}, {0, 0}}, 4, 99, 1);
  for (trace::Comm& comm : job.ranks[1].comms) comm.group = job.ranks[1].strings.intern("other");
  const JobTimes times = job_times(job, match::match(job));
  EXPECT_TRUE(times.clocks[0].known);
  EXPECT_FALSE(times.clocks[1].known);
  EXPECT_TRUE(times.collectives.empty() || times.collectives[0].members == 1);
}

}  // namespace
}  // namespace chakra::analyze
