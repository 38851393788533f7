// Distances of distributions against values by hand, and two jobs whose times are known.
#include "chakra/analyze/timing.h"

#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::analyze {
namespace {

using chakra::testing::literal;
using chakra::testing::tag_of;
using Times = std::vector<Picoseconds>;
using trace::CommType;
using trace::testing::Job;

TEST(Timing, DistancesOfDistributionsByHand) {
  struct Row {
    Times a, b;
    double share, shift;
  };
  for (const Row& row : {Row{{1, 2, 3}, {1, 2, 3}, 0, 0}, Row{{1, 2, 3}, {2, 3, 4}, 1.0 / 3, 1}, Row{{0}, {10}, 1, 10},
                         Row{{0, 10}, {5}, 0.5, 5}, Row{{0, 0, 0, 8}, {0, 8}, 0.25, 2}, Row{{5, 5}, {5}, 0, 0},
                         Row{{1, 100}, {1, 1, 100, 100}, 0, 0}}) {
    EXPECT_NEAR(largest_share_difference(row.a, row.b), row.share, 1e-12);
    EXPECT_NEAR(mean_shift_ps(row.a, row.b), row.shift, 1e-12);
    EXPECT_EQ(largest_share_difference(row.a, row.b), largest_share_difference(row.b, row.a));
    EXPECT_EQ(mean_shift_ps(row.a, row.b), mean_shift_ps(row.b, row.a));
  }
  EXPECT_DEATH(mean_shift_ps(Times{}, Times{1}), literal("!a.empty() && !b.empty()"));
}

/// The values of PARAM (et_replay/comm/profiler_trace_analysis.py) for the same times: for an all-to-all with uneven
/// parts, the larger of the bytes a member sends and receives; for other collectives, factors of bytes / time; numpy's
/// percentiles.
TEST(Timing, OfAnUnevenAllToAllIsOneRowWithTheBandwidthOfPARAM) {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const trace::NodeId n = job.collective(r, CommType::all_to_all, r == 0 ? 40 : 8);
    trace::Trace& t = job.builders[r].trace;
    trace::Comm& comm = job.builders[r].comm(n);
    comm.in_split = r == 0 ? "[1, 9]" : "[1, 1]";
    comm.out_split = r == 0 ? "[1, 1]" : "[9, 1]";
    t.dur_ps.edit(n) = (r == 0 ? 10 : 20) * kPsPerUs;
    t.flags.edit(n) |= trace::kHasStart | trace::kHasDuration;
  }
  Findings findings;
  const trace::TraceSet set = job.finish();
  const auto was = timing_of(set, {}, findings);
  ASSERT_TRUE(was) << was.error().message();
  ASSERT_EQ(was->operations.size(), 1u);
  const auto& [key, operation] = *was->operations.begin();
  EXPECT_EQ(std::get<2>(key), 40u);
  EXPECT_EQ(operation.times, (Times{10 * kPsPerUs, 20 * kPsPerUs}));
  ASSERT_EQ(operation.bus_rates.size(), 2u);
  EXPECT_DOUBLE_EQ(operation.bus_rates[0], 36 / 20e-6);
  EXPECT_DOUBLE_EQ(operation.bus_rates[1], 36 / 10e-6);
  const auto tables = timing_tables(*was, std::vector<JobTiming>{*was});
  const auto& row = tables[0].table.rows.at(0);
  EXPECT_EQ(std::get<int64_t>(row[6]), 15 * kPsPerUs);       // np.percentile([10, 20], 50)
  EXPECT_EQ(std::get<int64_t>(row[10]), 19'500 * kPsPerNs);  // np.percentile([10, 20], 95)
  EXPECT_DOUBLE_EQ(std::get<double>(row[12]), (1.8 + 3.6) / 2 * 1e6);
}

/// Two ranks that compute and then all-reduce 1 MB, as measured.
trace::TraceSet measured(Picoseconds compute, Picoseconds transfer) {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const trace::NodeId work = job.compute(r, compute);
    const trace::NodeId sum = job.collective(r, CommType::all_reduce, 1'000'000, {work});
    trace::Trace& t = job.builders[r].trace;
    t.start_ps.edit(sum) = compute;
    t.dur_ps.edit(sum) = transfer;
    for (const trace::NodeId n : {work, sum}) t.flags.edit(n) |= trace::kHasStart | trace::kHasDuration;
  }
  return job.finish();
}

TEST(Timing, OfJobsWhoseTimesAreKnown) {
  Findings findings;
  const auto was = timing_of(measured(3'000'000, 1'000'000'000), {}, findings);
  ASSERT_TRUE(was) << was.error().message();
  std::vector<JobTiming> is;
  for (const Picoseconds transfer : {1'900'000'000, 2'000'000'000, 2'100'000'000})
    is.push_back(*timing_of(measured(3'000'000, transfer), {}, findings));
  const auto tables = timing_tables(*was, is);
  const auto& row = tables[0].table.rows.at(0);
  EXPECT_EQ(std::get<std::string>(row[0]), "ALL_REDUCE");
  EXPECT_EQ(std::get<int64_t>(row[3]), 2);              // members
  EXPECT_EQ(std::get<int64_t>(row[6]), 1'000'000'000);  // p50
  EXPECT_EQ(std::get<int64_t>(row[7]), 2'000'000'000);
  EXPECT_EQ(std::get<double>(row[8]), 2);
  EXPECT_EQ(std::get<double>(row[9]), 0.05);         // 1.9 to 2.1 ms
  EXPECT_DOUBLE_EQ(std::get<double>(row[12]), 1e9);  // 2 (n - 1) / n = 1: 1 MB in 1 ms
  EXPECT_DOUBLE_EQ(std::get<double>(row[13]), 5e8);
  EXPECT_EQ(largest_difference(*was, is), "collective differs most: 2.000 ms in all, 4.000 ms replayed (+100.00 %)");
  const auto& rank = tables[1].table.rows.at(0);
  EXPECT_EQ(std::get<int64_t>(rank[1]), 1'003'000'000);  // span
  EXPECT_EQ(std::get<int64_t>(rank[4]), 1'000'000'000);  // exposed

  Job never(1);
  never.compute(0, 5);
  EXPECT_EQ(tag_of(timing_of(never.finish(), {}, findings)), "analyze.timing.none");
}

}  // namespace
}  // namespace chakra::analyze
