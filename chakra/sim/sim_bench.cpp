// Simulated events per second, on jobs whose makespan is known.
#include <benchmark/benchmark.h>

#include "chakra/sim/sim.h"

namespace {

using namespace chakra;

sim::SimInput job(int64_t ranks, uint32_t steps) {
  sim::SimInput in;
  in.fabric = {{{net::TopologyKind::ring, ranks, 1e12 / 1073741824.0, 1000}}};  // 1 byte per ps, 1 us per link
  for (int64_t r = 0; r < ranks; ++r) {
    trace::Builder b;
    b.trace.rank = r;
    for (const trace::NodeId n : ids<trace::NodeId>(2 * steps)) {
      b.add(n + 1, 0, n % 2 ? trace::NodeType::coll : trace::NodeType::comp);
      if (n > 0) b.dep(n, n - 1, 0);
      if (n % 2) {
        b.comm(n).type = trace::CommType::all_reduce;
        b.comm(n).bytes = static_cast<uint64_t>(ranks) * 1000;
      } else {
        b.trace.dur_ps.edit(n) = 1'000'000;
      }
    }
    in.job.ranks.push_back(std::move(b).finish());
  }
  return in;
}

void BM_ComputeAndAllReduce(benchmark::State& state) {
  const int64_t ranks = state.range(0);
  const Picoseconds expected = 1000 * (1'000'000 + 2 * (ranks - 1) * (1'000'000 + 1000));
  uint64_t events = 0;
  for (auto _ : state) {
    state.PauseTiming();
    sim::SimInput in = job(ranks, 1000);
    in.collectives = *coll::parse_selection("allreduce: ring");
    in.fold = false;
    state.ResumeTiming();
    auto report = sim::simulate(std::move(in));
    if (!report || report->makespan_ps != expected) return state.SkipWithError("wrong answer");
    events += report->events;
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ComputeAndAllReduce)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
