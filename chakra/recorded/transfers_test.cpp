// Recorded transfers, against truth worked out by hand.
#include <gtest/gtest.h>

#include "chakra/recorded/recorded.h"
#include "chakra/sim/testing/recorded_ranks.h"

namespace chakra::recorded {
namespace {

using sim::Congestion;
using sim::RankReport;
using sim::SimInput;
using sim::Transfers;
using sim::testing::input_of;
using sim::testing::job;
using sim::testing::Rank;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr Picoseconds kUs = kPsPerUs;

/// Finishes in us with recorded transfers.
std::vector<int64_t> run(trace::TraceSet&& set, Congestion congestion = Congestion::closed) {
  SimInput input = input_of(std::move(set));
  input.congestion = congestion;
  input.transfers = *recorded_transfers(input.job, match::match(input.job));
  const auto report = simulate(std::move(input));
  if (!report) ADD_FAILURE() << report.error().message();
  std::vector<int64_t> finish;
  for (const RankReport& r : report->ranks) finish.push_back(r.finish_ps / kUs);
  return finish;
}

TEST(Recorded, TransferIsFromTheLastStartToTheLastEnd) {
  // Rank 0 waits from 10 to 50; rank 1 began at 20 and comes at 20 + 30. They end at 55 and 57, each by itself.
  constexpr trace::CommType kType = trace::CommType::all_reduce;
  trace::TraceSet set = job(std::move(Rank(0).start(0).comp(0, 10).coll(kType, 10, 45).comp(55, 5)),
                            std::move(Rank(1).start(20).comp(0, 30).coll(kType, 30, 7).comp(37, 5)));
  const Transfers transfers = *recorded_transfers(set, match::match(set));
  EXPECT_EQ(transfers.known, 1);
  EXPECT_EQ(transfers.unknown, 0);
  EXPECT_EQ(transfers.rows[0][0].transfer_ps, 7 * kUs);
  EXPECT_EQ(transfers.rows[1][0].transfer_ps, 7 * kUs);
  EXPECT_EQ(run(std::move(set)), (std::vector<int64_t>{60, 62}));
}

/// Rank 0 is the root of a broadcast and ends after 4 of `computes`; rank 1 comes at 30 and takes 6.
trace::TraceSet broadcast(int64_t computes) {
  trace::TraceSet set =
      job(std::move(Rank(0).start(0).comp(0, 10).coll(trace::CommType::broadcast, 10, 4).comp(14, 50)),
          std::move(Rank(1).start(0).comp(0, 30).coll(trace::CommType::broadcast, 30, 6).comp(36, 5)));
  set.ranks[0].dur_ps.edit(0) = computes * kUs;
  return set;
}

TEST(Recorded, WhoEndedBeforeTheLastCameWaitsForNobody) {
  EXPECT_EQ(run(broadcast(10)), (std::vector<int64_t>{64, 41}));
  const trace::TraceSet recorded = broadcast(10);
  for (const Congestion congestion : {Congestion::closed, Congestion::fluid, Congestion::packet}) {
    SimInput late = input_of(broadcast(100));  // the root comes last now, and rank 1 waits for it
    late.transfers = *recorded_transfers(recorded, match::match(recorded));
    late.congestion = congestion;
    const auto report = simulate(std::move(late));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->ranks[0].finish_ps, 154 * kUs);
    EXPECT_EQ(report->ranks[1].finish_ps, 111 * kUs);
    ASSERT_EQ(report->collectives.size(), 1u);
    EXPECT_EQ(report->collectives[0].total_ps, 6 * kUs);
  }
}

/// By the clocks rank 0 leaves an all-reduce at 12, before rank 1 comes at 30. With data that cannot be.
TEST(Recorded, NobodyLeavesWhatAllMustReach) {
  const auto recorded = [](trace::CommType type, uint64_t bytes, int64_t computes) {
    trace::TraceSet set = job(std::move(Rank(0).start(0).comp(0, 10).coll(type, 10, 2).comp(12, 50)),
                              std::move(Rank(1).start(0).comp(0, 30).coll(type, 30, 6).comp(36, 5)));
    for (Trace& t : set.ranks) t.comms.edit(0).bytes = bytes;
    set.ranks[1].dur_ps.edit(0) = computes * kUs;
    return set;
  };
  const auto finish = [&](trace::CommType type, uint64_t bytes) {
    const trace::TraceSet measured = recorded(type, bytes, 30);
    SimInput late = input_of(recorded(type, bytes, 130));  // rank 1 is delayed by 100
    late.transfers = *recorded_transfers(measured, match::match(measured));
    const auto report = simulate(std::move(late));
    return report ? std::pair(report->ranks[0].finish_ps / kUs, report->ranks[1].finish_ps / kUs)
                  : std::pair<int64_t, int64_t>();
  };
  using Finish = std::pair<int64_t, int64_t>;
  EXPECT_EQ(finish(trace::CommType::all_reduce, 64), Finish(180, 141));
  EXPECT_EQ(finish(trace::CommType::barrier, 0), Finish(180, 141));
  EXPECT_EQ(finish(trace::CommType::all_reduce, 0), Finish(62, 141));  // nothing to wait for
  EXPECT_EQ(finish(trace::CommType::broadcast, 64), Finish(62, 141));
}

/// Rank 0's communication of 20 is cut: what waits goes on 15 after its start, and 5 are a piece behind.
trace::TraceSet cut() {
  Rank zero(0), one(1);
  zero.start(0).comp(0, 10).coll(trace::CommType::all_reduce, 10, 15).comp(25, 5).piece_of(1).comp(30, 40);
  one.start(0).comp(0, 10).coll(trace::CommType::all_reduce, 10, 20).comp(30, 1);
  return job(std::move(zero), std::move(one));
}

TEST(Recorded, PiecesBelongToTheirCommunication) {
  const trace::TraceSet set = cut();
  const Transfers transfers = *recorded_transfers(set, match::match(set));
  EXPECT_EQ(transfers.rows[0][0].transfer_ps, 20 * kUs);
  EXPECT_EQ(transfers.rows[0][0].after(), 15 * kUs);
  EXPECT_EQ(run(cut()), (std::vector<int64_t>{70, 31}));
  SimInput priced = input_of(cut());  // the network prices all of it, whatever was recorded of the piece
  const auto now = simulate(std::move(priced));
  SimInput longer = input_of(cut());
  longer.job.ranks[0].dur_ps.edit(NodeId(2)) = 500 * kUs;
  EXPECT_EQ(simulate(std::move(longer))->ranks[0].finish_ps, now->ranks[0].finish_ps);
}

TEST(Recorded, TransferOfARankThatComesLaterIsNotWaiting) {
  // As above, but that rank 0 computes 100: now rank 1 waits, and both end 7 after rank 0 has come.
  const auto late = [] {
    return job(std::move(Rank(0).start(0).comp(0, 10).coll(trace::CommType::all_reduce, 10, 47)),
               std::move(Rank(1).start(20).comp(0, 30).coll(trace::CommType::all_reduce, 30, 7)));
  };
  for (const Congestion congestion : {Congestion::closed, Congestion::fluid, Congestion::packet}) {
    trace::TraceSet set = late();
    SimInput input = input_of(late());
    input.transfers = *recorded_transfers(set, match::match(set));
    input.congestion = congestion;
    input.job.ranks[0].dur_ps.edit(0) = 100 * kUs;
    const auto report = simulate(std::move(input));
    EXPECT_EQ(report->ranks[0].finish_ps, 107 * kUs);
    EXPECT_EQ(report->ranks[1].finish_ps, 107 * kUs);
  }
}

TEST(Recorded, ADriftingClockIsTakenOut) {
  // Rank 1's clock runs 1 % fast: what it calls 101 is 100 of the job.
  trace::TraceSet set =
      job(std::move(Rank(0).start(0).comp(0, 90).coll(trace::CommType::all_reduce, 90, 20)),
          std::move(Rank(1).start(0, 10'000'000).comp(0, 101).coll(trace::CommType::all_reduce, 101, 10)));
  const Transfers transfers = *recorded_transfers(set, match::match(set));
  EXPECT_EQ(transfers.rows[0][0].transfer_ps, 10 * kUs);
}

TEST(Recorded, MessageTakesWhatFollowedTheLaterOfBothStarts) {
  // The receive waits from 0 to 40 for the send, and ends 6 later; the send ends with it.
  EXPECT_EQ(run(job(std::move(Rank(0).start(0).comp(0, 40).message(NodeType::send, 1, 40, 6).comp(46, 1)),
                    std::move(Rank(1).start(0).message(NodeType::recv, 0, 0, 46).comp(46, 2)))),
            (std::vector<int64_t>{47, 48}));
  // The send took 2 and was gone when the receive began at 30, which took 5.
  EXPECT_EQ(run(job(std::move(Rank(0).start(0).message(NodeType::send, 1, 0, 2).comp(2, 1)),
                    std::move(Rank(1).start(0).comp(0, 30).message(NodeType::recv, 0, 30, 5).comp(35, 1)))),
            (std::vector<int64_t>{3, 36}));
  // The send waited for the receive, which began 10 after it.
  EXPECT_EQ(run(job(std::move(Rank(0).start(0).message(NodeType::send, 1, 0, 13).comp(13, 1)),
                    std::move(Rank(1).start(10).message(NodeType::recv, 0, 0, 3).comp(3, 1)))),
            (std::vector<int64_t>{14, 14}));
}

TEST(Recorded, WhatHasNoTimeBeginsWhenWhatItWaitsForHasEnded) {
  trace::TraceSet set = job(std::move(Rank(0).start(0).comp(0, 40).message(NodeType::send, 1, -1, 0)),
                            std::move(Rank(1).start(0).message(NodeType::recv, 0, 0, 46)));
  const Transfers transfers = *recorded_transfers(set, match::match(set));
  EXPECT_EQ(transfers.rows[1][0].transfer_ps, 6 * kUs);
  trace::TraceSet unknown = job(std::move(Rank(0).start(0).message(NodeType::send, 1, -1, 0).comp(0, 1)),
                                std::move(Rank(1).start(0).message(NodeType::recv, 0, 0, 46)));
  EXPECT_EQ(recorded_transfers(unknown, match::match(unknown))->unknown, 1);
}

TEST(Recorded, ClocksThatNothingJoinsTellNoTransfer) {
  constexpr trace::CommType kType = trace::CommType::all_reduce;
  const trace::TraceSet set = job(std::move(Rank(0).start(0).comp(0, 10).coll(kType, 10, 45)),
                                  std::move(Rank(1).comp(0, 30).coll(kType, 30, 7)));
  EXPECT_EQ(recorded_transfers(set, match::match(set))->known, 0);
}

}  // namespace
}  // namespace chakra::recorded
