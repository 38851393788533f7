#include <gtest/gtest.h>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

/// One rank: collectives of group 0 that begin and end together, then one of group a and one of group b at the same
/// time, which it joins `late_ns` later than it could.
trace::Trace record(int64_t rank, int64_t late_ns) {
  trace::Builder b;
  b.trace.rank = rank;
  const auto add = [&](const char* group, int64_t start_ns, int64_t end_ns) {
    const trace::NodeId n = b.add(b.trace.size() + 1, 0, trace::NodeType::coll);
    if (n > 0) b.dep(n, n - 1, static_cast<uint8_t>(trace::EdgeKind::given));
    b.trace.flags.edit(n) |= trace::kHasStart | trace::kHasDuration;
    b.trace.start_ps.edit(n) = start_ns * kPsPerNs;
    b.trace.dur_ps.edit(n) = (end_ns - start_ns) * kPsPerNs;
    trace::Comm& comm = b.comm(n);
    comm.type = trace::CommType::all_reduce;
    comm.bytes = 1024;
    comm.group = b.trace.strings.intern(group);
  };
  for (int64_t i = 0; i < 20; ++i) add("0", i * 100'000, i * 100'000 + 50'000);
  add("a", 3'000'000 + late_ns, 9'000'000);
  add("b", 4'000'000 + late_ns, 9'500'000);
  return std::move(b).finish();
}

TEST(Stragglers, WaitsAtTheSameTimeCountOnce) {
  trace::TraceSet job;
  job.ranks.push_back(record(0, 0));
  job.ranks.push_back(record(1, 3'000'000));
  const JobTimes times = job_times(job, match::match(job, {{"a", {0, 1}}, {"b", {0, 1}}}));
  ASSERT_EQ(times.stragglers.size(), 1u);
  EXPECT_EQ(times.stragglers[0].rank, 1);
  EXPECT_EQ(times.stragglers[0].last_at, 2);
  EXPECT_NEAR(times.stragglers[0].waited_ns, 4'000'000, 1'000);  // from 3 to 6 and from 4 to 7 ms
}

}  // namespace
}  // namespace chakra::analyze
