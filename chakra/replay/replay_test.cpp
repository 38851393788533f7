// The back ends of this room that run in threads, over random jobs. And jobs that cannot finish.
#include "chakra/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/backends.h"
#include "chakra/replay/testing/every_collective.h"
#include "chakra/replay/testing/whole_job.h"
#include "chakra/trace/testing/random_job.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::replay {
namespace {

using namespace testing;
using chakra::testing::tag_of;
using trace::CommType;
using trace::NodeType;
using trace::testing::Job;
using trace::testing::random_job;
using trace::testing::RandomJob;

TEST(Replay, RandomJobsRunInOrderAndMeetTheirPartners) {
  for (const BackendRow& backend : {kNull, kNccl}) {
    SCOPED_TRACE(std::string(backend.name));
    if (backend.missing && !backend.missing().empty()) continue;
    expect_random_jobs_run(backend, backend.name == "nccl" ? 10 : 1);  // many threads: slow
  }
}

TEST(Replay, EveryCollectiveByTheStandInForNccl) {
  std::vector<Collective> all = every_collective(asks_for_all());
  std::erase_if(all, [](const Collective& c) {  // sums of a type that NCCL has not
    const auto type = static_cast<CommType>(c[kType]);
    const std::string_view names = elements()[c[kDtype]].names;
    return (type == CommType::all_reduce || type == CommType::reduce || type == CommType::reduce_scatter ||
            type == CommType::reduce_scatter_block) &&
           (names.starts_with("short") || names.starts_with("uint16"));
  });
  EveryCollective every(all, asks_for_all());
  const Whole whole(every.finish(), every.groups());
  ASSERT_EQ(whole.plans.size(), kCollectiveRanks);
  JobOptions options = options_for(kNccl, kNone);
  options.run.verify = true;
  const auto runs = run_all(whole.plans, within(milliseconds(60'000)), options);
  ASSERT_TRUE(runs) << runs.error().message();
  const auto library = open_library(options.settings["library"]);
  ASSERT_TRUE(library);
  uint64_t (*calls)(const char*) = nullptr;
  ASSERT_TRUE(find_function(*library, "nccl_stand_in_calls", calls));
  for (const char* name :
       {"ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv"})
    EXPECT_GT(calls(name), 0) << name;

  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const NodeId sum = job.collective(r, CommType::all_reduce, 8);
    job.builders[r].comm(sum).dtype = job.builders[r].trace.strings.intern("short");
  }
  const Whole other(job.finish());
  EXPECT_EQ(tag_of(run_all(other.plans, within(milliseconds(5'000)), options)), "replay.nccl.type");
}

TEST(Replay, TheNullBackEndTakesTheShortestRecordedTime) {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const NodeId work = job.compute(r, r == 0 ? 40'000'000'000 : 1'000'000'000);  // 40 ms, 1 ms
    const NodeId sum = job.collective(r, CommType::all_reduce, 1024, {work});
    job.builders[r].trace.dur_ps.edit(sum) = r == 0 ? 20'000'000'000 : 59'000'000'000;  // rank 1 waited for 39 ms
  }
  const Whole whole(job.finish());
  const auto runs = run_all(whole.plans, within(milliseconds(5000)), options_for(kNull));
  ASSERT_TRUE(runs) << runs.error().message();
  for (const RankRun& run : *runs) {
    EXPECT_GE(run.times[0].end[1], 60'000'000'000);  // not earlier; how much later, a busy machine decides
    EXPECT_EQ(run.collectives, 1);
    EXPECT_EQ(run.bytes, 1024);
  }
  JobOptions halved = options_for(kNull);
  halved.settings["scale"] = "0";
  halved.run.scale_compute = 0.5;
  const auto again = run_all(whole.plans, within(milliseconds(5000)), halved);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[0].times[0].end[0] - (*again)[0].times[0].start[0], 20'000'000'000);
}

TEST(Replay, ASenderDoesNotWaitForItsReceiver) { expect_free_senders(kNull); }

TEST(Replay, WhoWaitsForWhomIsNamed) {
  const auto run = [](trace::TraceSet set) {
    const Whole whole(std::move(set));
    JobOptions options = options_for(kNull);
    options.agree = false;
    return run_all(whole.plans, within(milliseconds(1000)), options);
  };
  {  // rank 2 lacks the second collective
    Job job(3);
    for (size_t r = 0; r < 3; ++r) {
      const NodeId first = job.collective(r, CommType::all_reduce, 8);
      if (r != 2) job.collective(r, CommType::all_gather, 8, {first});
    }
    const auto result = run(job.finish());
    ASSERT_EQ(tag_of(result), "replay.stuck");
    EXPECT_EQ(result.error().code, Code::stuck);
    EXPECT_NE(result.error().text.find("ranks 0, 1 wait in ALL_GATHER number 1"), std::string::npos)
        << result.error().text;
    EXPECT_NE(result.error().text.find("for rank 2, which has finished"), std::string::npos) << result.error().text;
  }
  {  // each waits for the message of the other before it sends its own
    Job job(2);
    for (size_t r = 0; r < 2; ++r) {
      const auto other = static_cast<int64_t>(1 - r);
      const NodeId got = job.message(r, NodeType::recv, other, 8);
      job.message(r, NodeType::send, other, 8, {got});
    }
    const auto result = run(job.finish());
    ASSERT_EQ(tag_of(result), "replay.stuck");
    EXPECT_NE(result.error().text.find("message number 0 from rank 1 to rank 0 with tag 0 for rank 1"),
              std::string::npos)
        << result.error().text;
  }
  {  // a node waits for itself
    Job job(1);
    const NodeId a = job.compute(0, 1000), b = job.compute(0, 1000, {a});
    job.builders[0].dep(a, b, 0);
    EXPECT_EQ(tag_of(run(job.finish())), "replay.stuck.local");
  }
}

TEST(Replay, RanksThatDisagreeAreToldBeforeTheyRun) {
  Job job(3);
  for (size_t r = 0; r < 3; ++r)
    for (size_t i = 0; i < 2 + (r == 1); ++i) job.collective(r, CommType::all_reduce, 8);
  const Whole whole(job.finish());
  const auto result = run_all(whole.plans, within(milliseconds(2000)), options_for(kNull));
  EXPECT_EQ(tag_of(result), "replay.comm.differ");

  Job types(2);
  types.collective(0, CommType::all_reduce, 8);
  types.collective(1, CommType::broadcast, 8);
  const Whole other(types.finish());
  JobOptions options = options_for(kNull);
  EXPECT_EQ(tag_of(run_all(other.plans, within(milliseconds(2000)), options)), "replay.comm.differ");
  options.agree = false;  // then it is found when they meet
  EXPECT_EQ(tag_of(run_all(other.plans, within(milliseconds(2000)), options)), "replay.comm.differ");
}

TEST(Replay, WhatIsNotSelectedTakesNoTimeAndIsNotSent) {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const NodeId work = job.compute(r, 1'000'000'000'000);  // 1 s
    const NodeId sum = job.collective(r, CommType::all_reduce, 8, {work});
    job.collective(r, CommType::all_gather, 8, {sum});
  }
  const Whole whole(job.finish());
  JobOptions options = options_for(kNull);
  options.selected = {{false, false, true}, {false, false, true}};
  const auto runs = run_all(whole.plans, within(milliseconds(2000)), options);
  ASSERT_TRUE(runs) << runs.error().message();
  EXPECT_EQ((*runs)[0].collectives, 1);
  EXPECT_EQ((*runs)[0].times[0].end[0], (*runs)[0].times[0].start[0]);
  EXPECT_EQ(timeline_of(whole.plans, *runs, options).slices.size(), 2);
}

TEST(Plan, SizesAndPartsOfOperations) {
  Job job(3);
  for (size_t r = 0; r < 3; ++r) {
    const auto add = [&](CommType type, uint64_t bytes, int64_t root = -1) {
      const NodeId n = job.collective(r, type, bytes);
      job.builders[r].comm(n).root = root;
      return n;
    };
    add(CommType::all_gather, 10);
    add(CommType::reduce_scatter, 10);
    add(CommType::broadcast, 10, 1);
    add(CommType::gather, 10, 2);
    add(CommType::barrier, 0);
    const NodeId uneven = add(CommType::all_to_all, 12 * (r + 1));
    const char* in[] = {"[1, 2, 0]", "[2, 2, 2]", "[3, 3, 3]"};
    const char* out[] = {"[1, 2, 3]", "[2, 2, 3]", "[0, 2, 3]"};
    job.builders[r].comm(uneven).in_split = in[r];
    job.builders[r].comm(uneven).out_split = out[r];
  }
  const Whole whole(job.finish());
  const auto op = [&](size_t r, uint32_t n) { return whole.plans[r].step(NodeId(n)).operation; };
  EXPECT_EQ(op(0, 0).in_bytes, 10);
  EXPECT_EQ(op(0, 0).out_bytes, 30);
  EXPECT_EQ(op(0, 1).out_bytes, 4);
  EXPECT_EQ(op(0, 2).in_bytes, 0);
  EXPECT_EQ(op(1, 2).in_bytes, 10);
  EXPECT_EQ(op(1, 2).root, 1);
  EXPECT_EQ(op(2, 3).out_bytes, 30);
  EXPECT_EQ(op(1, 3).out_bytes, 0);
  EXPECT_EQ(op(0, 4).in_bytes + op(0, 4).out_bytes, 0);
  EXPECT_EQ(std::vector(op(0, 5).in_split.begin(), op(0, 5).in_split.end()), (std::vector<uint64_t>{4, 8, 0}));
  EXPECT_EQ(std::vector(op(0, 5).out_split.begin(), op(0, 5).out_split.end()), (std::vector<uint64_t>{4, 8, 12}));
  EXPECT_EQ(op(0, 5).out_bytes, 24);
  EXPECT_EQ(op(0, 5).index, 5);
}

TEST(Plan, ARankThatReadsOnlyItsOwnTraceFindsTheSame) {
  Prng random(7);
  for (int i = 0; i < 50; ++i) {
    const RandomJob job = random_job(random, 2, 8, 20);
    const match::GroupTable groups(job.groups.begin(), job.groups.end());
    const Whole whole(job.build(), groups);
    for (uint32_t r = 0; r < whole.job.ranks.size(); ++r) {
      const trace::TraceSet own = alone(job.build().ranks[r], static_cast<int64_t>(whole.job.ranks.size()));
      const match::Matching matching = match::match(own, groups);
      const auto plan = plan_rank(own, matching, r);
      ASSERT_TRUE(plan) << plan.error().message();
      for (size_t c = 0; c < plan->steps.size(); ++c) {
        const Operation &a = plan->steps[c].operation, &b = whole.plans[r].steps[c].operation;
        ASSERT_EQ(describe(a), describe(b)) << "job " << i;
        ASSERT_EQ(a.in_bytes, b.in_bytes);
        ASSERT_EQ(a.out_bytes, b.out_bytes);
        ASSERT_EQ(a.root, b.root);
        ASSERT_TRUE(std::ranges::equal(a.members, b.members));
        ASSERT_EQ(plan->steps[c].per_repetition, whole.plans[r].steps[c].per_repetition);
      }
    }
  }
}

TEST(Plan, RefusesWhatCannotBeReplayed) {
  const auto tag = [](Job& job) {
    const trace::TraceSet set = job.finish();
    const match::Matching matching = match::match(set);
    return tag_of(plan_rank(set, matching, 0));
  };
  Job type(2), group(2), partner(2), own(2), parts(2);
  for (size_t r = 0; r < 2; ++r) type.collective(r, CommType::unknown, 8);
  EXPECT_EQ(tag(type), "replay.comm.type");
  group.collective(0, CommType::all_reduce, 8, {}, "who");
  EXPECT_EQ(tag(group), "replay.comm.group");
  partner.message(0, NodeType::send, 5, 8);
  EXPECT_EQ(tag(partner), "replay.comm.partner");
  own.message(0, NodeType::send, 0, 8);
  EXPECT_EQ(tag(own), "replay.comm.partner");
  for (size_t r = 0; r < 2; ++r) {
    const NodeId n = parts.collective(r, CommType::all_to_all, 9);
    parts.builders[r].comm(n).in_split = parts.builders[r].comm(n).out_split = "[1, 1]";
  }
  EXPECT_EQ(tag(parts), "replay.comm.split");
}

}  // namespace
}  // namespace chakra::replay
