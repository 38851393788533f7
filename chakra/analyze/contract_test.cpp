// Analyses stop where a trace comes with another trace's schedule, or a job with another job's matching.
#include <gtest/gtest.h>

#include "chakra/analyze/analyze.h"
#include "chakra/base/testing/testing.h"

namespace chakra::analyze {
namespace {

using chakra::testing::literal;

trace::Trace of_nodes(uint64_t nodes) {
  trace::Builder b;
  for (uint64_t id = 0; id < nodes; ++id) b.add(id, 0, trace::NodeType::comp);
  return std::move(b).finish();
}

TEST(Contract, OfSchedules) {
  const trace::Trace trace = of_nodes(2);
  Findings findings;
  const Schedule own = *schedule_of(trace, findings), other = *schedule_of(of_nodes(1), findings);
  EXPECT_TRUE(critical_path(trace, own));
  EXPECT_TRUE(time_budget(trace, own));
  EXPECT_DEATH((void)critical_path(trace, other), literal("s.start.size() == t.size()"));
  EXPECT_DEATH((void)time_budget(trace, other), literal("s.start.size() == t.size()"));
  EXPECT_DEATH((void)live_bytes(trace, other), literal("s.start.size() == t.size()"));
  Schedule cut = own;
  cut.end.pop_back();
  EXPECT_DEATH((void)time_budget(trace, cut), literal("s.end.size() == t.size()"));
}

TEST(Contract, OfMatchings) {
  trace::TraceSet job;
  job.ranks.push_back(of_nodes(1));
  EXPECT_EQ(job_times(job, match::match(job)).clocks.size(), 1u);
  EXPECT_DEATH((void)job_times(job, {}), literal("matching.of_comm.size() == job.ranks.size()"));
}

}  // namespace
}  // namespace chakra::analyze
