// FeederV3's interface on 800,000 nodes. The answer is checked.
//
//   feeders_bench --benchmark_filter=LoadV3/0     0 in order, 3 shuffled
#include <benchmark/benchmark.h>

#include <set>
#include <string>
#include <vector>

#include "chakra/feeders/include/feeder_v3/et_feeder.h"
#include "chakra/feeders/testing/many_nodes.h"

namespace {

using namespace chakra::feeders::testing;

/// As ASTRA-sim: of all free nodes the lowest ids first, in steps.
void BM_LoadV3(benchmark::State& state) {
  const std::string path = write_file(static_cast<int>(state.range(0)), kLoaded);
  for (auto _ : state) {
    std::vector<bool> done(kLoaded);
    uint64_t count = 0;
    Chakra::FeederV3::ETFeeder feeder(path);
    auto& resolver = feeder.getDependancyResolver();
    while (!resolver.get_dependancy_free_nodes().empty()) {
      const auto free = resolver.get_dependancy_free_nodes();
      for (const uint64_t id : std::set<uint64_t>(free.begin(), free.end())) {
        resolver.take_node(id);
        if (feeder.lookupNode(id)->runtime() != 5) return state.SkipWithError("another duration");
        if (!after_its_deps(id, done)) return state.SkipWithError("before its dependency");
        resolver.finish_node(id);
        ++count;
      }
    }
    if (count != kLoaded) return state.SkipWithError("not all nodes");
  }
  state.counters["peak_MB"] = static_cast<double>(peak_bytes()) / 1e6;
  std::filesystem::remove(path);
}
BENCHMARK(BM_LoadV3)->Arg(0)->Arg(3)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
