// A plan's price and its run without contention must be the formula's.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using net::TopologyKind;
using testing::fabric;
using testing::first_ranks;
using testing::kBytes;
using testing::kManyBytes;
using testing::types_of;
using trace::CommType;

/// All ends are `seconds` after the start: within 1e-9 of it and a picosecond.
void expect_time(const char* name, CommType type, const net::Fabric& net, uint64_t bytes, double seconds) {
  const auto n = static_cast<uint32_t>(net.size());
  const std::vector<int64_t> ranks = first_ranks(n);
  const Place place{&net, ranks};
  const Plan plan = find_algorithm(name)->plan({type, bytes, 0, {}}, place);
  std::vector<Picoseconds> ready(n, 1'000'000);
  run_closed(plan, place, ready);
  const double last = static_cast<double>(*std::max_element(ready.begin(), ready.end()) - 1'000'000);
  EXPECT_NEAR(last, seconds * 1e12, 1 + seconds * 1e3) << name << " " << trace::name(type) << " of " << n;
}

TEST(RunClosed, EqualsTheFormula) {
  const double rate = 50 * 1073741824.0, link = 500e-9, size = static_cast<double>(kManyBytes);
  for (const uint32_t n : {2u, 3u, 4u, 6u, 8u, 16u}) {
    const net::Fabric ring = fabric(TopologyKind::ring, n), star = fabric(TopologyKind::switch_, n),
                      full = fabric(TopologyKind::fully_connected, n);
    const double m = n, K = std::ceil(std::log2(m)), S = size / rate;
    const auto check = [&](const char* name, CommType type, double star_s, double ring_s = -1, double full_s = -1) {
      expect_time(name, type, star, kManyBytes, star_s);
      if (ring_s >= 0) expect_time(name, type, ring, kManyBytes, ring_s);
      if (full_s >= 0) expect_time(name, type, full, kManyBytes, full_s);
    };
    const double L = 2 * link;
    check("ring", CommType::all_reduce, 2 * (m - 1) * (L + S / m), 2 * (m - 1) * (link + S / m));
    check("ring", CommType::reduce_scatter, (m - 1) * (L + S / m), (m - 1) * (link + S / m));
    check("ring", CommType::reduce_scatter_block, (m - 1) * (L + S / m), (m - 1) * (link + S / m));
    check("ring", CommType::all_gather, (m - 1) * (L + S), (m - 1) * (link + S), (m - 1) * (link + S));
    check("ring", CommType::all_to_all, (m - 1) * L + (m - 1) * S / 2, (m - 1) * link + (m - 1) * S / 2);
    // One link to the switch carries both ways; two members of a ring have one neighbour.
    const double ways = n == 2 ? 1 : 2;
    check("bidirectional_ring", CommType::all_reduce, 2 * (m - 1) * (L + S / m), 2 * (m - 1) * (link + S / m / ways),
          2 * (m - 1) * (link + S / m / ways));
    check("bidirectional_ring", CommType::all_gather, (m - 1) * (L + S), (m - 1) * (link + S / ways));
    check("direct", CommType::all_reduce, 2 * (L + (m - 1) * S / m), -1, 2 * (link + S / m));
    check("direct", CommType::reduce_scatter, L + (m - 1) * S / m, -1, link + S / m);
    check("direct", CommType::all_gather, L + (m - 1) * S, -1, link + S);
    check("direct", CommType::all_to_all, L + (m - 1) * S / m, -1, link + S / m);
    check("pairwise", CommType::all_to_all, (m - 1) * (L + S / m), -1, (m - 1) * (link + S / m));
    check("dissemination", CommType::barrier, K * L, -1, K * link);
    check("linear", CommType::scatter, L + (m - 1) * S / m, -1, link + S / m * (m - 1));
    check("linear", CommType::gather, L + (m - 1) * S);
    check("bruck", CommType::all_gather, K * L + (m - 1) * S, -1, K * link + (m - 1) * S);
    // 64 pieces: once through all members, and the other pieces behind the first.
    for (const CommType type : {CommType::broadcast, CommType::reduce})
      check("chain", type, (m - 1) * (L + S / 64) + 63 * S / 64, -1, (m - 1) * (link + S / 64) + 63 * S / 64);
    if (!std::has_single_bit(n)) continue;
    check("halving_doubling", CommType::all_reduce, 2 * K * L + 2 * (m - 1) / m * S, -1,
          2 * K * link + 2 * (m - 1) / m * S);
    check("halving_doubling", CommType::reduce_scatter, K * L + (m - 1) / m * S);
    check("halving_doubling", CommType::all_gather, K * L + (m - 1) * S);
    check("tree", CommType::broadcast, K * (L + S), -1, K * (link + S));
    check("tree", CommType::reduce, K * (L + S));
    check("tree", CommType::all_reduce, 2 * K * (L + S));
    check("tree", CommType::gather, K * L + (m - 1) * S);
    check("tree", CommType::scatter, K * L + (m - 1) / m * S);
    check("tree", CommType::barrier, 2 * K * L);
    check("bruck", CommType::all_to_all, K * (L + S / 2));
  }
}

/// Chunks go through the dimensions like equal jobs through machines: the sum of the parts for the first, and
/// the longest part once more for each further one.
TEST(Hierarchical, CostsWhatAPipelineDoes) {
  const double GiB = 1073741824.0;
  for (const uint64_t mib : {1, 4, 64}) {
    const uint64_t bytes = mib << 20;
    const net::Fabric net{{{TopologyKind::ring, 4, 200, 500},
                           {TopologyKind::fully_connected, 2, 100, 700},
                           {TopologyKind::switch_, 8, 50, 1000}}};
    for (const CommType type : {CommType::all_reduce, CommType::reduce_scatter, CommType::all_gather}) {
      const double whole = static_cast<double>(bytes) * (type == CommType::all_gather ? 64 : 1);
      const double most = type == CommType::all_reduce ? 8 : 16;  // 22 rounds and 11: the power of two up to 256 in all
      const double chunks = std::clamp(whole / (1 << 20), 1.0, most), S = whole / chunks;
      std::vector<double> parts{3 * (500e-9 + S / 4 / (200 * GiB)), 700e-9 + S / 8 / (100 * GiB),
                                7 * (2000e-9 + S / 64 / (50 * GiB))};
      if (type == CommType::all_reduce) parts.insert(parts.end(), {parts[0], parts[1], parts[2]});
      const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
      expect_time("hierarchical", type, net, bytes, sum + (chunks - 1) * *std::max_element(parts.begin(), parts.end()));
    }
  }
}

TEST(RunClosed, ALateMemberDelaysAll) {
  const uint32_t n = 8;
  const std::vector<int64_t> ranks = first_ranks(n);
  const net::Fabric net = fabric(TopologyKind::switch_, n);
  const Place place{&net, ranks};
  const Plan plan = find_algorithm("ring")->plan({CommType::all_reduce, kBytes, 0, {}}, place);
  std::vector<Picoseconds> together(n, 0), late(n, 0);
  run_closed(plan, place, together);
  late[3] = 1'000'000'000;
  run_closed(plan, place, late);
  EXPECT_NEAR(static_cast<double>(*std::max_element(late.begin(), late.end())),
              static_cast<double>(together[0] + 1'000'000'000), 1);
}

TEST(RunClosed, BeginsWhenEachMemberIsReady) {
  // 0 -> 1 -> 2; member 3 has no part and ends when it begins.
  const net::Fabric net{{{TopologyKind::switch_, 4, 1e12 / 1073741824.0, 1}}};  // a byte per ps, 2 ns
  const std::vector<int64_t> ranks = first_ranks(4);
  Plan plan{4, 1, {}};
  plan.rounds.resize(2);
  plan.rounds[0].list = {{0, 1, 100}};
  plan.rounds[1].list = {{1, 2, 50}};
  std::vector<Picoseconds> ready{10, 5000, -70, 3};
  run_closed(plan, {&net, ranks}, ready);
  EXPECT_EQ(ready, (std::vector<Picoseconds>{110, 5050, 7050, 3}));
}

TEST(RunClosed, TimesThatAreTooLongStayAtTheEnd) {
  const net::Fabric net{{{TopologyKind::ring, 4, 1e-300, 1e12}}};
  const std::vector<int64_t> ranks = first_ranks(4);
  for (const AlgorithmRow& row : kAlgorithms)
    for (const CommType type : types_of(row)) {
      if (row.needs != AlgorithmRow::Needs::nothing) continue;
      for (const uint64_t bytes : {uint64_t{0}, UINT64_MAX}) {
        const std::vector<Picoseconds> starts{0, -kLongestPs, kLongestPs, 7};
        std::vector<Picoseconds> ready = starts;
        run_closed(row.plan({type, bytes, 0, {}}, {&net, ranks}), {&net, ranks}, ready);
        for (size_t i = 0; i < ready.size(); ++i) {
          EXPECT_LE(ready[i], kLongestPs);
          EXPECT_GE(ready[i], starts[i]);
        }
      }
    }
}

}  // namespace
}  // namespace chakra::coll
