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

}  // namespace
