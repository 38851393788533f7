// Writing and reading a trace of a million nodes. The answer is checked.
#include <benchmark/benchmark.h>

#include "chakra/io/io.h"

namespace {

constexpr chakra::trace::NodeId kNodes = 1'000'000;

chakra::trace::Trace chain() {
  chakra::trace::Builder b;
  const chakra::StringId name = b.trace.strings.intern("aten::some_operator");
  for (chakra::trace::NodeId n = 0; n < kNodes; ++n) {
    b.add(n + 1, name, chakra::trace::NodeType::comp);
    b.trace.flags[n] =
        chakra::trace::kHasStart | chakra::trace::kHasDuration | chakra::trace::kSaysCpuOrNot | chakra::trace::kOnCpu;
    b.trace.start_ps[n] = n * 1000;
    b.trace.dur_ps[n] = 1000;
    if (n > 0) b.dep(n, n - 1, 1);
  }
  return std::move(b).finish();
}

void BM_WriteEt(benchmark::State& state) {
  const chakra::trace::Trace trace = chain();
  size_t size = 0;
  for (auto _ : state) benchmark::DoNotOptimize(size = chakra::io::to_et(trace).size());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(size));
}
BENCHMARK(BM_WriteEt)->Unit(benchmark::kMillisecond);

void BM_ReadEt(benchmark::State& state) {
  const std::string bytes = chakra::io::to_et(chain());
  for (auto _ : state) {
    auto read = chakra::io::read_et(*chakra::ByteSource::from_memory(bytes));
    if (!read || read->size() != kNodes || read->deps.node.size() != kNodes - 1)
      return state.SkipWithError("wrong answer");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK(BM_ReadEt)->Unit(benchmark::kMillisecond);

}  // namespace
