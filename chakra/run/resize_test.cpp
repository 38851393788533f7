// Random jobs with fewer and more ranks: what is proved and runs as recorded is also proved and runs then.
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/check/check.h"
#include "chakra/edit/edit.h"
#include "chakra/replay/testing/whole_job.h"
#include "chakra/run/rows.h"
#include "chakra/trace/testing/random_job.h"

namespace chakra::run {
namespace {

using replay::Operation;
using replay::testing::Whole;
using trace::testing::random_job;
using trace::testing::RandomJob;

/// Shrinks to `ranks`, or repeats as often as needed.
Result<trace::TraceSet> resized(trace::TraceSet job, match::GroupTable& groups, int64_t ranks) {
  const auto before = static_cast<int64_t>(job.ranks.size());
  Findings findings;
  return ranks > before ? edit::replicate(std::move(job), groups, ranks / before, replay::element_bytes, findings)
                        : edit::shrink(std::move(job), groups, ranks, replay::element_bytes, findings);
}

void expect_proved(const trace::TraceSet& job, const match::GroupTable& groups) {
  for (const Finding& f : check::prove(job, match::match(job, groups)))
    ASSERT_NE(f.severity, Severity::error) << f.tag << ": rank " << f.rank << ", node " << f.node << ": " << f.text;
}

/// A process that reads the trace of one rank alone must find the same operations as one that reads all.
void expect_same_alone(const RandomJob& job, const Whole& whole) {
  const auto ranks = static_cast<int64_t>(whole.job.ranks.size()), recorded = static_cast<int64_t>(job.ranks.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<size_t>(rank);
    match::GroupTable groups(job.groups.begin(), job.groups.end());
    auto own = resized(replay::alone(job.build().ranks[static_cast<size_t>(rank % recorded)], recorded), groups, ranks);
    ASSERT_TRUE(own) << own.error().message();
    const trace::TraceSet set = replay::alone(std::move(own->ranks[r]), ranks);
    const auto plan = replay::plan_rank(set, match::match(set, groups), static_cast<uint32_t>(rank));
    ASSERT_TRUE(plan) << plan.error().message();
    for (size_t c = 0; c < plan->steps.size(); ++c) {
      const Operation &a = plan->steps[c].operation, &b = whole.plans[r].steps[c].operation;
      ASSERT_EQ(describe(a), describe(b));
      ASSERT_EQ(a.in_bytes, b.in_bytes);
      ASSERT_EQ(a.out_bytes, b.out_bytes);
      ASSERT_EQ(a.root, b.root);
      ASSERT_TRUE(std::ranges::equal(a.members, b.members));
      ASSERT_TRUE(std::ranges::equal(a.in_split, b.in_split));
      ASSERT_TRUE(std::ranges::equal(a.out_split, b.out_split));
    }
  }
}

/// Members of groups of all ranks send and receive as much as before, but for the rounding of shards; others exactly.
void expect_as_much(const Whole& before, const Whole& after) {
  for (size_t r = 0; r < after.plans.size(); ++r) {
    const auto& recorded = before.plans[r % before.plans.size()].steps;
    for (size_t c = 0; c < recorded.size(); ++c) {
      const Operation &was = recorded[c].operation, &is = after.plans[r].steps[c].operation;
      if (was.kind != Operation::Kind::collective || was.type != trace::CommType::all_to_all) continue;
      ASSERT_EQ(is.in_bytes, was.in_bytes);
      ASSERT_EQ(is.out_bytes, was.out_bytes);
    }
  }
}

/// What stays has the parts that it had.
void expect_same_parts(const Whole& before, const Whole& after) {
  for (size_t r = 0; r < after.plans.size(); ++r)
    for (size_t c = 0; c < after.plans[r].steps.size(); ++c) {
      const Operation &was = before.plans[r].steps[c].operation, &is = after.plans[r].steps[c].operation;
      if (is.members.empty() || is.in_split.empty()) continue;
      for (size_t m = 0; m < is.members.size(); ++m) {
        const auto at = static_cast<size_t>(std::ranges::find(was.members, is.members[m]) - was.members.begin());
        ASSERT_LT(at, was.members.size());
        ASSERT_EQ(is.in_split[m], was.in_split[at]);
        ASSERT_EQ(is.out_split[m], was.out_split[at]);
      }
    }
}

TEST(Resize, RandomJobsAreProvedAndRun) {
  Prng random(20261124);
  for (uint64_t i = 0; i < replay::testing::jobs_to_try(); ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    const RandomJob job = random_job(random, 2, 8, 20);
    match::GroupTable groups(job.groups.begin(), job.groups.end());
    const auto recorded = static_cast<int64_t>(job.ranks.size());
    const int64_t ranks = i % 2 == 0 ? random.between(1, recorded) : recorded * random.between(2, 3);
    SCOPED_TRACE(std::to_string(recorded) + " ranks become " + std::to_string(ranks));
    expect_proved(job.build(), groups);
    const Whole before(job.build(), groups);
    auto set = resized(job.build(), groups, ranks);
    ASSERT_TRUE(set) << set.error().message();
    expect_proved(*set, groups);
    const Whole whole(std::move(*set), groups);
    ASSERT_EQ(static_cast<int64_t>(whole.plans.size()), ranks);
    expect_same_alone(job, whole);
    if (ranks > recorded) expect_as_much(before, whole);
    else expect_same_parts(before, whole);
    for (const replay::BackendRow& backend : {replay::kNull, replay_fabric::kFabric}) {
      if (ranks > recorded && i % 5 != 0) continue;  // many threads: slow
      SCOPED_TRACE(std::string(backend.name));
      const auto options = replay::testing::random_options(backend, i);
      const auto runs = replay::run_all(whole.plans, replay::testing::within(std::chrono::seconds(20)), options);
      ASSERT_TRUE(runs) << runs.error().message();
      std::vector<std::vector<replay::NodeTimes>> times;
      for (const replay::RankRun& run : *runs) times.push_back(run.times);
      replay::testing::expect_well_run(whole, times);
      if (HasFatalFailure()) return;
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace chakra::run
