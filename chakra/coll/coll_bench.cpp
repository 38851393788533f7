// Collectives on 4096 members: plans, prices and runs, with answers that are known.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chakra/coll/coll.h"

namespace {

using namespace chakra;

constexpr int64_t kRanks = 4096;
constexpr uint64_t kBytes = 1 << 20;

/// A byte per picosecond, a microsecond per link.
net::Fabric ring() { return {{{net::TopologyKind::ring, kRanks, 1e12 / 1073741824.0, 1000}}}; }

struct Ring {
  net::Fabric fabric = ring();
  std::vector<int64_t> ranks;
  coll::Plan plan;
  coll::Place place;
  Ring() : ranks(kRanks) {
    std::iota(ranks.begin(), ranks.end(), 0);
    place = {&fabric, ranks};
    plan = coll::find_algorithm("ring")->plan({trace::CommType::all_reduce, kBytes, 0, {}}, place);
  }
};
constexpr Picoseconds kAllReducePs = 2 * (kRanks - 1) * (1'000'000 + kBytes / kRanks);

void BM_RingPlanAndRunTogether(benchmark::State& state) {
  for (auto _ : state) {
    const Ring ring;
    std::vector<Picoseconds> ready(kRanks, 7);
    coll::run_closed(ring.plan, ring.place, ready);
    if (ready[kRanks / 2] != 7 + kAllReducePs) return state.SkipWithError("wrong answer");
  }
}
BENCHMARK(BM_RingPlanAndRunTogether)->Unit(benchmark::kMillisecond);

void BM_RingRunWithDifferentStarts(benchmark::State& state) {
  const Ring ring;
  for (auto _ : state) {
    std::vector<Picoseconds> ready(kRanks);
    for (int64_t r = 0; r < kRanks; ++r) ready[static_cast<size_t>(r)] = 1'000'000 * (r * 7919 % kRanks);
    coll::run_closed(ring.plan, ring.place, ready);
    // Every member hears of the last start in the first n - 1 rounds, and goes on with its neighbours from there.
    const Picoseconds last = *std::max_element(ready.begin(), ready.end());
    if (last != 1'000'000 * (kRanks - 1) + kAllReducePs) return state.SkipWithError("wrong answer");
  }
  state.counters["transfers/s"] =
      benchmark::Counter(2.0 * kRanks * (kRanks - 1), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_RingRunWithDifferentStarts)->Unit(benchmark::kMillisecond);

void BM_RunAgain(benchmark::State& state) {
  const Ring ring;
  const coll::PricedPlan priced = coll::price(ring.plan, ring.place);
  std::vector<Picoseconds> ready(kRanks);
  for (auto _ : state) {
    std::fill(ready.begin(), ready.end(), 0);
    coll::run_closed(priced, ready);
    if (ready[1] != kAllReducePs) return state.SkipWithError("wrong answer");
  }
}
BENCHMARK(BM_RunAgain)->Unit(benchmark::kMicrosecond);

/// Of 16 x 16 x 16 members, that of the dimension in the middle with a link for each pair: 8 chunks of 1 MiB.
void BM_HierarchyPlanPriceAndRun(benchmark::State& state) {
  const double byte_per_ps = 1e12 / 1073741824.0;
  const net::Fabric fabric{{{net::TopologyKind::ring, 16, byte_per_ps, 1000},
                            {net::TopologyKind::fully_connected, 16, byte_per_ps, 1000},
                            {net::TopologyKind::switch_, 16, byte_per_ps, 500}}};
  std::vector<int64_t> ranks(kRanks);
  std::iota(ranks.begin(), ranks.end(), 0);
  const coll::Place place{&fabric, ranks};
  const coll::Operation op{trace::CommType::reduce_scatter, 8 << 20, 0, {}};
  const bool different = state.range(0) != 0;
  const Picoseconds first = 15 * (1'000'000 + (1 << 16)), second = 1'000'000 + (1 << 12),
                    third = 15 * (1'000'000 + 256);
  for (auto _ : state) {
    const coll::Plan plan = coll::find_algorithm("hierarchical")->plan(op, place);
    std::vector<Picoseconds> ready(kRanks);
    if (different) ready[5] = -1;
    coll::run_closed(plan, place, ready);
    if (ready[77] != first + second + third + 7 * first) return state.SkipWithError("wrong answer");
  }
}
BENCHMARK(BM_HierarchyPlanPriceAndRun)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// A list of transfers: no two members do the same.
void BM_TreePlanPriceAndRun(benchmark::State& state) {
  const Ring ring;
  const coll::Operation op{trace::CommType::all_reduce, kBytes, 0, {}};
  for (auto _ : state) {
    const coll::Plan plan = coll::find_algorithm("double_binary_tree")->plan(op, ring.place);
    std::vector<Picoseconds> ready(kRanks);
    coll::run_closed(plan, ring.place, ready);
    if (*std::max_element(ready.begin(), ready.end()) <= 2 * int64_t{kBytes})
      return state.SkipWithError("wrong answer");
  }
}
BENCHMARK(BM_TreePlanPriceAndRun)->Unit(benchmark::kMillisecond);

/// 4,096 of 5,000 places round the ring: the way from the last to the first is longer.
void BM_RingOnPartOfTheFabric(benchmark::State& state) {
  const net::Fabric fabric{{{net::TopologyKind::ring, 5000, 1e12 / 1073741824.0, 1000}}};
  const Ring ring;
  const coll::Place place{&fabric, ring.ranks};
  for (auto _ : state) {
    std::vector<Picoseconds> ready(kRanks);
    coll::run_closed(ring.plan, place, ready);
    // Each block comes over the long way, of 5,000 - 4,095 links, at most twice on its way round twice.
    const Picoseconds last = *std::max_element(ready.begin(), ready.end());
    if (last < kAllReducePs + 904 * 1'000'000 || last > kAllReducePs + 2 * 904 * 1'000'000)
      return state.SkipWithError("wrong answer");
  }
}
BENCHMARK(BM_RingOnPartOfTheFabric)->Unit(benchmark::kMillisecond);

}  // namespace
