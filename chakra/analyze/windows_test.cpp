// Ranks that recorded different parts of a job: which collectives are common, and what their clocks say.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/analyze/analyze.h"
#include "chakra/base/testing/testing.h"

namespace chakra::analyze {
namespace {

enum class Evidence { numbers, steps, sizes, times, nothing };
constexpr std::array<const char*, 5> kEvidence{"numbers", "steps", "sizes", "times", "nothing"};

struct Truth {
  int64_t step;
  uint64_t bytes;
  double start_ns, end_ns;
};

/// What a job of one group did, and what its ranks recorded of it.
struct Made {
  std::vector<Truth> calls;
  std::vector<std::pair<size_t, size_t>> part;  ///< per rank: calls [first, second)
  std::vector<double> clock_ns;                 ///< per rank: how far ahead
  trace::TraceSet job;
  std::vector<match::RankWindow> windows;
};

std::vector<Truth> calls_of(Prng& random, Evidence evidence) {
  const size_t steps = 4 + random.below(8), of_step = 2 + random.below(6);
  std::vector<Truth> calls;
  double now = 0;
  for (size_t s = 0; s < steps; ++s)
    for (size_t i = 0; i < of_step; ++i) {
      const bool regular = evidence == Evidence::nothing || (evidence == Evidence::steps && random.chance(0.5));
      now += regular ? 500'000 : 200'000 + static_cast<double>(random.below(2'000'000));
      const uint64_t bytes = evidence == Evidence::sizes ? 1024 * (1 + random.below(1000)) : 4096;
      calls.push_back({static_cast<int64_t>(s) + 10, bytes, now, now + 100'000});
      now += 100'000;
    }
  return calls;
}

/// Schedules begin and end with steps; a ring buffer holds the end, from anywhere; a front may be cut.
std::pair<size_t, size_t> part_of(Prng& random, const std::vector<Truth>& calls) {
  const size_t all = calls.size();
  size_t begin = random.below(all / 3 + 1), end = all - random.below(all / 3 + 1);
  if (random.chance(0.5)) {
    while (begin > 0 && calls[begin - 1].step == calls[begin].step) --begin;
    while (end < all && calls[end].step == calls[end - 1].step) ++end;
  } else if (random.chance(0.5)) {
    end = all;
  }
  return {begin, end};
}

trace::Trace record(Prng& random, const Made& made, size_t rank, Evidence evidence) {
  const auto [begin, end] = made.part[rank];
  trace::Builder b;
  b.trace.rank = static_cast<int64_t>(rank);
  b.trace.groups.push_back({"0", {}, {}, {}, std::ssize(made.part)});
  b.trace.base_ns = 1'700'000'000'000'000'000;
  for (size_t i = begin; i < end; ++i) {
    const trace::NodeId n = b.add(i + 1, 0, trace::NodeType::coll);
    if (n > 0) b.dep(n, n - 1, static_cast<uint8_t>(trace::EdgeKind::given));
    const Truth& call = made.calls[i];
    const auto start =
        static_cast<int64_t>(call.start_ns + made.clock_ns[rank]) - static_cast<int64_t>(random.below(90'000));
    const auto stop =
        static_cast<int64_t>(call.end_ns + made.clock_ns[rank]) + static_cast<int64_t>(random.below(5'000));
    b.trace.flags.edit(n) |= trace::kHasStart | trace::kHasDuration;
    b.trace.start_ps.edit(n) = start * kPsPerNs;
    b.trace.dur_ps.edit(n) = (stop - start) * kPsPerNs;
    trace::Comm& comm = b.comm(n);
    comm.type = trace::CommType::all_reduce;
    comm.bytes = call.bytes;
    comm.group = b.trace.strings.intern("0");
    comm.sequence = static_cast<int64_t>(evidence == Evidence::numbers ? i : i - begin);
  }
  return std::move(b).finish();
}

Made make(Prng& random, Evidence evidence) {
  Made made;
  made.calls = calls_of(random, evidence);
  const size_t ranks = 2 + random.below(4);
  for (size_t r = 0; r < ranks; ++r) {
    made.part.push_back(part_of(random, made.calls));
    made.clock_ns.push_back(random.chance(0.3) ? 0 : (static_cast<double>(random.below(2'000'000)) - 1e6) * 1000);
  }
  for (size_t r = 0; r < ranks; ++r) {
    made.job.ranks.push_back(record(random, made, r, evidence));
    match::RankWindow& window = made.windows.emplace_back();
    const auto [begin, end] = made.part[r];
    for (size_t i = begin; i < end; ++i) window.steps.push_back(evidence == Evidence::steps ? made.calls[i].step : -1);
    if (evidence != Evidence::numbers) window.counted = {"0"};
    window.begin_ns = static_cast<int64_t>(made.calls[begin].start_ns + made.clock_ns[r]) - 100'000;
    window.end_ns = static_cast<int64_t>(made.calls[end - 1].end_ns + made.clock_ns[r]) + 5'000;
  }
  return made;
}

/// Nodes have the places in the job as ids: those of one collective must be equal.
bool expect_right(const Made& made, Evidence evidence) {
  trace::TraceSet job = made.job;
  (void)match::align_windows(job, made.windows);
  const match::Matching matching = match::match(job);
  const JobTimes times = job_times(job, matching);
  size_t from = 0, to = made.calls.size();
  for (const auto& [begin, end] : made.part) from = std::max(from, begin), to = std::min(to, end);
  bool all_known = true;
  for (size_t r = 1; r < job.ranks.size(); ++r) {
    const Clock& clock = times.clocks[r];
    all_known &= clock.known;
    if (!clock.known) continue;
    EXPECT_NEAR(clock.offset_ns, made.clock_ns[r] - made.clock_ns[static_cast<size_t>(clock.reference)], 100'000)
        << "rank " << r;
  }
  const bool certain = evidence == Evidence::numbers || (evidence == Evidence::sizes && to > from + 3);
  if (certain && to > from) {
    EXPECT_TRUE(all_known);
  }
  if (!all_known) return false;
  size_t common = 0;
  for (const match::Collective& c : matching.collectives) {
    uint64_t id = 0;
    bool whole = true;
    for (const match::NodeRef& ref : c.members) {
      whole &= ref.node != trace::kNoNode;
      if (ref.node == trace::kNoNode) continue;
      if (id == 0) id = job.ranks[ref.rank].id[ref.node];
      EXPECT_EQ(job.ranks[ref.rank].id[ref.node], id);
    }
    common += whole;
  }
  EXPECT_EQ(common, to > from ? to - from : 0);
  for (const Finding& finding : matching.findings) EXPECT_EQ(finding.tag, "match.window.part") << finding.text;
  return true;
}

TEST(Windows, ClocksAreRightOrUnknown) {
  Prng random(7);
  std::map<Evidence, int> known;  // of 40
  for (int round = 0; round < 200; ++round) {
    const auto evidence = static_cast<Evidence>(round % 5);
    SCOPED_TRACE(fmt::format("round {}, {}", round, kEvidence[static_cast<size_t>(evidence)]));
    known[evidence] += expect_right(make(random, evidence), evidence);
    if (HasFailure()) return;
  }
  EXPECT_EQ(known[Evidence::numbers], 40);
  EXPECT_GE(known[Evidence::steps], 30);
  EXPECT_GE(known[Evidence::sizes], 36);
  EXPECT_GE(known[Evidence::times], 25);
  EXPECT_LE(known[Evidence::nothing], 10);
}

TEST(Windows, UncertaintyGrowsWherePairsDisagree) {
  Prng random(8);
  Made made = make(random, Evidence::numbers);
  made.part.assign(2, {0, made.calls.size()});
  made.clock_ns.assign(2, 0);
  trace::TraceSet job;
  for (size_t r = 0; r < 2; ++r) job.ranks.push_back(record(random, made, r, Evidence::numbers));
  const double before = job_times(job, match::match(job)).clocks[1].uncertainty_ns;
  for (trace::NodeId n(0); n < job.ranks[1].size(); n = n + 4) job.ranks[1].dur_ps.edit(n) += 3000 * kPsPerUs;
  const double after = job_times(job, match::match(job)).clocks[1].uncertainty_ns;
  EXPECT_LT(before, 10'000);
  EXPECT_GT(after, 1'000'000);
}

}  // namespace
}  // namespace chakra::analyze
