// Jobs with all that a replay needs, and what holds of every replay, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/replay/plugin.h"
#include "chakra/replay/replay.h"
#include "chakra/trace/testing/random_job.h"
#include "chakra/trace/testing/small_job.h"
#include "chakra/trace/trace.h"

namespace chakra::replay::testing {

using std::chrono::milliseconds;
using trace::NodeId;

/// A job with all that a replay of it needs.
struct Whole {
  trace::TraceSet job;
  match::Matching matching;
  std::vector<RankPlan> plans;

  explicit Whole(trace::TraceSet set, const match::GroupTable& groups = {})
      : job(std::move(set)), matching(match::match(job, groups)) {
    for (uint32_t r = 0; r < job.ranks.size(); ++r) {
      auto plan = plan_rank(job, matching, r);
      EXPECT_TRUE(plan) << plan.error().message();
      if (plan) plans.push_back(std::move(*plan));
    }
  }
};

inline JobOptions options_for(const BackendRow& backend, const ComputeRow& compute = kSleep) {
  JobOptions options;
  options.backend = &backend;
  if (backend.name == "nccl") options.settings["library"] = options.settings["driver"] = find_plugin("nccl_stand_in");
  options.run.compute = &compute;
  return options;
}

inline World within(milliseconds timeout) {
  World world;
  world.timeout = timeout;
  return world;
}

/// Dependencies and lanes of one rank.
inline void expect_in_order(const RankPlan& plan, const NodeTimes& times) {
  const trace::Trace& t = *plan.trace;
  const feed::Queues queues(t, plan.turns);
  std::map<uint32_t, std::vector<std::pair<Picoseconds, Picoseconds>>> by_queue;
  for (const NodeId n : t.nodes()) {
    ASSERT_LE(times.start[n], times.end[n]) << "rank " << t.rank << " node " << t.id[n];
    for (const NodeId on : t.deps.of(n))
      ASSERT_GE(times.start[n], times.end[on]) << "rank " << t.rank << ": node " << t.id[n] << " began before node "
                                               << t.id[on] << ", for which it waits, had ended";
    if (queues.of(n) != feed::Queues::kNone) by_queue[queues.of(n)].emplace_back(times.start[n], times.end[n]);
  }
  for (auto& [queue, spans] : by_queue) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i)
      ASSERT_GE(spans[i].first, spans[i - 1].second) << "rank " << t.rank << ": lane " << queue << " runs two nodes";
  }
}

/// Nobody leaves a collective before the last has come, nor has a message before it was sent. Ranks have one clock.
/// `empty_too`: also where hardly anything is sent, or nothing to some members.
inline void expect_meetings(const Whole& whole, const std::vector<const NodeTimes*>& times, bool empty_too) {
  constexpr uint64_t kHardlyAnything = 64;  // not a whole element for each member
  for (const match::Collective& c : whole.matching.collectives) {
    const trace::Trace& first = whole.job.ranks[c.members[0].rank];
    const bool splits = !first.comm(c.members[0].node)->in_split.empty();
    if (!empty_too && c.type != trace::CommType::barrier && (splits || c.bytes < kHardlyAnything)) continue;
    Picoseconds last = INT64_MIN, first_end = INT64_MAX;
    for (const match::NodeRef& ref : c.members) {
      ASSERT_NE(ref.node, trace::kNoNode);
      last = std::max(last, times[ref.rank]->start[ref.node]);
      first_end = std::min(first_end, times[ref.rank]->end[ref.node]);
    }
    if (trace::has_root(c.type)) continue;
    ASSERT_GE(first_end, last) << "collective " << c.index;
  }
  for (const match::Message& m : whole.matching.messages)
    ASSERT_GE(times[m.recv.rank]->end[m.recv.node], times[m.send.rank]->start[m.send.node]);
}

inline uint64_t jobs_to_try() {
  const char* given = std::getenv("CHAKRA_TEST_JOBS");
  return given ? std::strtoull(given, nullptr, 10) : 60;
}

/// All repetitions of a job that ran, of all its ranks.
inline void expect_well_run(const Whole& whole, const std::vector<std::vector<NodeTimes>>& runs,
                            bool empty_too = true) {
  for (size_t repetition = 0; repetition < runs[0].size(); ++repetition) {
    std::vector<const NodeTimes*> times;
    for (size_t r = 0; r < runs.size(); ++r) {
      times.push_back(&runs[r][repetition]);
      expect_in_order(whole.plans[r], *times.back());
    }
    expect_meetings(whole, times, empty_too);
  }
}

/// Of the job of that number: every fourth warms up, every second repeats, every third computes nothing.
inline JobOptions random_options(const BackendRow& backend, uint64_t i) {
  JobOptions options = options_for(backend, i % 3 == 0 ? kNone : kSleep);
  options.run.warmup = i % 4 == 0;
  options.run.repetitions = 1 + i % 2;
  options.run.verify = true;
  return options;
}

/// Random jobs run in order, and their ranks meet their partners. `each`: of that many jobs, one runs.
inline void expect_random_jobs_run(const BackendRow& backend, uint64_t each = 1) {
  Prng random(20261123);
  for (uint64_t i = 0; i < jobs_to_try(); ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    const trace::testing::RandomJob job = trace::testing::random_job(random, 2, 8, 20);
    if (i % each != 0) continue;
    const Whole whole(job.build(), {job.groups.begin(), job.groups.end()});
    ASSERT_EQ(whole.plans.size(), whole.job.ranks.size());
    const auto runs = run_all(whole.plans, within(milliseconds(20'000)), random_options(backend, i));
    ASSERT_TRUE(runs) << runs.error().message();
    std::vector<std::vector<NodeTimes>> times;
    for (const RankRun& run : *runs) times.push_back(run.times);
    expect_well_run(whole, times);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// Two ranks that send before they receive do not wait for each other.
inline void expect_free_senders(const BackendRow& backend) {
  trace::testing::Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const auto other = static_cast<int64_t>(1 - r);
    const NodeId sent = job.message(r, trace::NodeType::send, other, 1 << 20);
    job.message(r, trace::NodeType::recv, other, 1 << 20, {sent});
  }
  const Whole whole(job.finish());
  JobOptions options = options_for(backend);
  options.run.verify = true;
  options.run.repetitions = 2;
  const auto runs = run_all(whole.plans, within(milliseconds(5000)), options);
  ASSERT_TRUE(runs) << runs.error().message();
}

}  // namespace chakra::replay::testing
