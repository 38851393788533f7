// The rules about communication, on numbers by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/analyze/diagnosis.h"

namespace chakra::analyze {
namespace {

constexpr Picoseconds kMs = 1'000'000'000;

/// Add a rank with one step.
void add_rank(DiagnosisNumbers& n, int64_t number, Picoseconds total, Picoseconds computes, Picoseconds exposed) {
  DiagnosisNumbers::Rank& rank = n.ranks.emplace_back();
  rank.rank = number, rank.total = total, rank.steps = 1;
  rank.computes = rank.alone = computes, rank.exposed = exposed;
}

/// Six ranks, each with 100 ms: pairs tp0, tp1, tp2, and dp0 of ranks 0, 2, 4 and dp1 of ranks 1, 3, 5. The link of
/// rank 0 is slow: gathers of tp0 and of dp0 take 10 ms and 20 ms, others 2 ms and 5 ms.
DiagnosisNumbers slow_rank_0() {
  DiagnosisNumbers n;
  n.measured = true;
  for (int64_t r = 0; r < 6; ++r) {
    add_rank(n, r, 100 * kMs, 50 * kMs, 50 * kMs);
    const std::string tp = "tp" + std::to_string(r / 2), dp = "dp" + std::to_string(r % 2);
    n.exposed.push_back({r, "ALL_GATHER", tp, r < 2 ? 10 * kMs : 2 * kMs, 2 * r});
    n.exposed.push_back({r, "ALL_GATHER", dp, 20 * kMs, 2 * r + 1});
  }
  for (int64_t i = 0; i < 3; ++i)
    n.transfers.push_back({"ALL_GATHER", "tp" + std::to_string(i), 1 << 24, 2, 1, 0, i == 0 ? 10 * kMs : 2 * kMs, i});
  for (int64_t i = 0; i < 2; ++i)
    n.transfers.push_back(
        {"ALL_GATHER", "dp" + std::to_string(i), 1 << 26, 3, 1, 0, i == 0 ? 20 * kMs : 5 * kMs, 3 + i});
  return n;
}

TEST(SlowLink, CostsAlsoOtherGroupsOfItsRanks) {
  const Diagnoses found = diagnose(slow_rank_0());
  ASSERT_EQ(found.rows[0].kind, "slow_link");
  EXPECT_EQ(found.rows[0].place, "group tp0");
  EXPECT_EQ(found.rows[0].cost, (8 + 15) * kMs);
  EXPECT_NE(found.rows[0].sentence.find("of group dp0 with a rank of this group"), std::string::npos);
  for (size_t i = 1; i < found.rows.size(); ++i) EXPECT_NE(found.rows[i].kind, "slow_link");
}

TEST(SlowLink, NeedsARankInCommonToCostAnotherGroup) {
  DiagnosisNumbers n = slow_rank_0();
  for (DiagnosisNumbers::Exposed& x : n.exposed)
    if (x.group == "dp0" && x.rank == 0) x.rank = 6;  // dp0 has no rank of tp0
  const Diagnoses found = diagnose(n);
  const auto row =
      std::find_if(found.rows.begin(), found.rows.end(), [](const Diagnosis& d) { return d.kind == "slow_link"; });
  ASSERT_NE(row, found.rows.end());
  EXPECT_EQ(row->cost, 8 * kMs);
}

TEST(SlowLink, OfTwoGroupsAloneIsNotJudged) {
  DiagnosisNumbers n = slow_rank_0();
  std::erase_if(n.transfers, [](const DiagnosisNumbers::Transfer& t) { return t.group == "tp2"; });
  const Diagnoses found = diagnose(n);
  for (const Diagnosis& d : found.rows) EXPECT_NE(d.kind, "slow_link");
}

/// The links of rank 0 are slow, and all of tp0's time is hidden. Noise in tp2 also shares a rank with dp0.
TEST(SlowLink, IsNamedByTheGroupWithMostTimeAboveTheOthers) {
  DiagnosisNumbers n = slow_rank_0();
  std::erase_if(n.exposed, [](const DiagnosisNumbers::Exposed& x) { return x.group == "tp0"; });
  n.groups = {{"tp0", {0, 1}}, {"dp0", {0, 2, 4}}};
  for (int64_t i = 0; i < 3; ++i)
    n.transfers.push_back({"ALL_REDUCE", "tp" + std::to_string(i), 4096, 2, 1, 0, (i == 2 ? 2 : 1) * kMs / 100, 5 + i});
  const Diagnosis found = diagnose(n).rows[0];
  ASSERT_EQ(found.kind, "slow_link");
  EXPECT_EQ(found.place, "group tp0");
  EXPECT_EQ(found.cost, 15 * kMs);
}

TEST(SlowLink, HalfOfTheGroupsAreNoException) {
  DiagnosisNumbers n = slow_rank_0();
  n.transfers[1].time = 9 * kMs;  // tp0 and tp1, of three
  for (const Diagnosis& d : diagnose(n).rows) EXPECT_NE(d.kind, "slow_link") << d.sentence;
}

/// Ten all-gathers of one size in one group, which take all exposed time.
Diagnoses gathers(Picoseconds time) {
  DiagnosisNumbers n;
  n.measured = true;
  for (int64_t r = 0; r < 2; ++r) {
    add_rank(n, r, 100 * time, 90 * time, 10 * time);
    n.exposed.push_back({r, "ALL_GATHER", "0", 10 * time, r});
  }
  n.transfers.push_back({"ALL_GATHER", "0", 1 << 20, 2, 10, 0, 10 * time, 0});
  return diagnose(n);
}

TEST(NoOverlap, CouldBeLatencyOnlyIfANetworkCanHaveIt) {
  for (const auto& [time, could] : {std::pair(kMs / 2, true), std::pair(kMs, false)}) {
    const Diagnoses found = gathers(time);  // a quarter of 0.8 ms are two rounds of 100 us
    ASSERT_EQ(found.rows[0].kind, "no_overlap");
    const auto& kinds = found.rows[0].could_be;
    EXPECT_EQ(std::find(kinds.begin(), kinds.end(), "small_messages") != kinds.end(), could) << time;
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), "slow_link"), kinds.end());
  }
}

TEST(NoOverlap, CountsNoWaitingForOtherRanks) {
  DiagnosisNumbers n;
  n.measured = true;
  for (int64_t r = 0; r < 2; ++r) {
    add_rank(n, r, 100 * kMs, 90 * kMs, 10 * kMs);
    n.exposed.push_back({r, "ALL_GATHER", "0", 10 * kMs, r});  // each rank waits for the other one in turn
  }
  n.transfers.push_back({"ALL_GATHER", "0", 1 << 20, 2, 10, 18 * kMs, 2 * kMs, 0});
  EXPECT_EQ(diagnose(n).rows[0].kind, "none");
}

/// Ranks with 100 ms, 70 of them of computation. Collectives of one type and group are exposed for a part of the rest.
DiagnosisNumbers exposed_job(int64_t ranks, const std::string& type, const std::string& group, Picoseconds exposed) {
  DiagnosisNumbers n;
  n.measured = true;
  for (int64_t r = 0; r < ranks; ++r) {
    add_rank(n, r, 100 * kMs, 70 * kMs, 30 * kMs);
    n.exposed.push_back({r, type, group, exposed, r});
  }
  return n;
}

/// The line through the smallest and the largest size has a latency of 86 us, but most of the collectives take 10 us.
TEST(SmallMessages, CostAtMostTheTimeOfTheirCollectives) {
  DiagnosisNumbers n = exposed_job(2, "ALL_GATHER", "0", 30 * kMs);
  n.transfers = {{"ALL_GATHER", "0", 1 << 20, 2, 20, 0, 2 * kMs, 0},
                 {"ALL_GATHER", "0", 2 << 20, 2, 200, 0, 2 * kMs, 1},
                 {"ALL_GATHER", "0", 64 << 20, 2, 2, 0, 2 * kMs, 2}};
  const Diagnoses found = diagnose(n);
  const auto row =
      std::find_if(found.rows.begin(), found.rows.end(), [](const Diagnosis& d) { return d.kind == "small_messages"; });
  ASSERT_NE(row, found.rows.end());
  EXPECT_EQ(row->cost, 4 * kMs);
}

/// Experts of four ranks: rank 2 has most bytes in one layer, rank 1 in two others and in sum.
TEST(SkewedExpert, NamesTheRankWithMostLoadOfAllLayers) {
  DiagnosisNumbers n = exposed_job(4, "ALL_TO_ALL", "ep", 20 * kMs);
  n.transfers.push_back({"ALL_TO_ALL", "ep", 1 << 20, 4, 6, 0, 6 * kMs, 0});
  n.loads.push_back({"ALL_TO_ALL", "ep", 1, 4, 1.4, 1.9, 0});
  n.uneven = {{"ep", 1, 4, 6 * kMs, 0}, {"ep", 2, 4, 8 * kMs, 1}};
  const Diagnosis found = diagnose(n).rows[0];
  EXPECT_EQ(found.kind, "skewed_expert");
  EXPECT_EQ(found.place, "rank 1");
  EXPECT_EQ(found.cost, 14 * kMs);
  EXPECT_EQ(found.evidence.row, 0);
  n.loads[0].ratio = 1.15;
  EXPECT_EQ(diagnose(n).rows[0].place, "group ep");
  n.uneven[0].late = 9 * kMs;  // most of the lateness
  EXPECT_EQ(diagnose(n).rows[0].place, "rank 1");
  n.loads[0].ratio = 1.05;
  EXPECT_EQ(diagnose(n).rows[0].place, "group ep");
  n.loads[0].ratio = 1.4;
  n.uneven[0].late = -1 * kMs;  // not late: its load costs no time
  EXPECT_EQ(diagnose(n).rows[0].place, "group ep");
  n.uneven.erase(n.uneven.begin());  // the busiest rank of no layer
  EXPECT_EQ(diagnose(n).rows[0].place, "rank 1");
}

}  // namespace
}  // namespace chakra::analyze
