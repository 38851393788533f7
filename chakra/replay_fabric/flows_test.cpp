// Schedules of flows of random jobs: every flow can leave, after all for which its operation waits, and together they
// move what the operations move.
#include "chakra/replay_fabric/flows.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/replay.h"
#include "chakra/trace/testing/random_job.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::replay_fabric {
namespace {

using chakra::testing::tag_of;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::testing::Job;
using trace::testing::random_job;

net::Fabric one_switch(int64_t ranks) {
  net::Fabric fabric;
  fabric.dimensions.push_back({net::TopologyKind::switch_, std::max<int64_t>(2, ranks), 100, 1000});
  return fabric;
}

std::vector<replay::RankPlan> plans_of(const trace::TraceSet& job, const match::Matching& matching) {
  std::vector<replay::RankPlan> plans;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    auto plan = replay::plan_rank(job, matching, r);
    EXPECT_TRUE(plan) << plan.error().message();
    plans.push_back(std::move(*plan));
  }
  return plans;
}

/// Whether all flows can leave, by their own conditions alone.
void expect_all_leave(const FlowSchedule& schedule) {
  std::map<std::pair<uint32_t, int64_t>, size_t> left;  // operation and rank -> flows that are not done
  for (const Flow& flow : schedule.flows)
    for (const int64_t rank : {flow.source, flow.destination}) ++left[{flow.operation, rank}];
  std::vector<bool> done(schedule.flows.size(), false);
  for (size_t before = SIZE_MAX, open = schedule.flows.size(); open < before;) {
    before = open;
    for (size_t f = 0; f < schedule.flows.size(); ++f) {
      const Flow& flow = schedule.flows[f];
      bool ready = !done[f];
      for (const uint32_t id : flow.after_flows) ready &= done[id];
      for (const auto& [operation, delay] : flow.after_operations) ready &= left[{operation, flow.source}] == 0;
      if (!ready) continue;
      done[f] = true;
      --open;
      for (const int64_t rank : {flow.source, flow.destination}) --left[{flow.operation, rank}];
    }
    if (open == 0) return;
  }
  FAIL() << "flows wait for each other";
}

TEST(Flows, OfRandomJobsCanAllLeaveAndMoveWhatMessagesMove) {
  Prng random(5);
  for (int i = 0; i < 40; ++i) {
    const auto random_one = random_job(random, 2, 8, 15);
    const trace::TraceSet job = random_one.build();
    const match::GroupTable groups(random_one.groups.begin(), random_one.groups.end());
    const match::Matching matching = match::match(job, groups);
    const auto plans = plans_of(job, matching);
    const auto schedule = flows_of(plans, matching, {}, one_switch(static_cast<int64_t>(job.ranks.size())), 1, {});
    ASSERT_TRUE(schedule) << schedule.error().message();
    expect_all_leave(*schedule);
    ASSERT_EQ(schedule->operations.size(), matching.collectives.size() + matching.messages.size());
    uint64_t messages = 0, of_flows = 0;
    for (const match::Message& m : matching.messages) messages += m.bytes;
    for (const Flow& flow : schedule->flows)
      if (schedule->operations[flow.operation].is_message) of_flows += flow.bytes;
    ASSERT_EQ(of_flows, messages);
  }
}

TEST(Flows, OfARingByHand) {
  Job job(3);
  for (size_t r = 0; r < 3; ++r) {
    const NodeId work = job.compute(r, 5'000 * (static_cast<int64_t>(r) + 1));
    const NodeId sum = job.collective(r, CommType::all_reduce, 300, {work});
    const NodeId more = job.compute(r, 7'000, {sum});
    if (r < 2) job.message(r, r == 0 ? NodeType::send : NodeType::recv, r == 0 ? 1 : 0, 8, {more});
  }
  const trace::TraceSet set = job.finish();
  const match::Matching matching = match::match(set);
  const auto plans = plans_of(set, matching);
  const auto ring = coll::parse_selection("ring");
  ASSERT_TRUE(ring);
  const auto schedule = flows_of(plans, matching, *ring, one_switch(3), 2, {});
  ASSERT_TRUE(schedule) << schedule.error().message();
  ASSERT_EQ(schedule->flows.size(), 2 * 2 * 3 + 1);  // 2 (n - 1) rounds of n flows, and the message
  std::map<int64_t, uint64_t> sent;
  for (const Flow& flow : schedule->flows)
    if (flow.operation == 0) sent[flow.source] += flow.bytes;
  for (const auto& [rank, bytes] : sent) EXPECT_EQ(bytes, 400) << rank;  // 2 (n - 1) / n of 300
  const Flow& message = schedule->flows.back();
  ASSERT_EQ(message.after_operations.size(), 1);
  EXPECT_EQ(message.after_operations[0], (std::pair<uint32_t, Picoseconds>(0, 14'000)));  // twice the computation
  EXPECT_EQ(schedule->operations[0].algorithm, "ring");
  for (const Flow& flow : schedule->flows)
    if (flow.operation == 0) EXPECT_EQ(flow.after_flows.empty(), flow.round == 0);
  EXPECT_EQ(table_of(*schedule).rows.size(), schedule->flows.size());

  Job alone(2);
  alone.collective(0, CommType::all_reduce, 8);
  const trace::TraceSet lacking = alone.finish();
  const match::Matching its = match::match(lacking);
  EXPECT_EQ(tag_of(flows_of(plans_of(lacking, its), its, {}, one_switch(2), 1, {})), "replay.flows.missing");
}

}  // namespace
}  // namespace chakra::replay_fabric
