// Linking the example job's first rank. The answer is checked: a wrong one fails the benchmark.
#include <benchmark/benchmark.h>

#include "chakra/pytorch/pytorch.h"

namespace {

void BM_Link(benchmark::State& state) {
  chakra::pytorch::RankInput input;
  input.host = "examples/traces/ddp_gloo_2ranks/host.0.json.gz";
  input.device = "examples/traces/ddp_gloo_2ranks/device.0.json.gz";
  auto host = chakra::read_file(input.host), device = chakra::read_file(input.device);
  if (!host || !device) return state.SkipWithError("run it in the project's folder");
  for (auto _ : state) {
    auto linked = chakra::pytorch::link(*chakra::ByteSource::from_memory(*host),
                                        *chakra::ByteSource::from_memory(*device), input, {});
    if (!linked || linked->report.matched_host_ops != 8121 || linked->report.comm_bytes != 44'064'480)
      return state.SkipWithError("wrong answer");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(host->size() + device->size()));
}
BENCHMARK(BM_Link)->Unit(benchmark::kMillisecond);

}  // namespace
