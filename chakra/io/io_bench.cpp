// Writing and reading a trace of a million nodes, in each form. The answer is checked.
#include <benchmark/benchmark.h>

#include "chakra/io/io.h"

namespace {

constexpr uint32_t kNodes = 1'000'000;

chakra::trace::Trace chain(int64_t rank = 0) {
  chakra::trace::Builder b;
  b.trace.rank = rank;
  const chakra::StringId name = b.trace.strings.intern("aten::some_operator");
  for (const chakra::trace::NodeId n : chakra::ids<chakra::trace::NodeId>(kNodes)) {
    b.add(n + 1, name, chakra::trace::NodeType::comp);
    b.trace.flags.edit(n) =
        chakra::trace::kHasStart | chakra::trace::kHasDuration | chakra::trace::kSaysCpuOrNot | chakra::trace::kOnCpu;
    b.trace.start_ps.edit(n) = n * 1000;
    b.trace.dur_ps.edit(n) = 1000;
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

std::string temporary(const char* name) { return std::string("/tmp/chakra-io-bench-") + name; }

void BM_ScanRecords(benchmark::State& state) {
  const std::string bytes = chakra::io::to_et(chain());
  for (auto _ : state) {
    chakra::io::EtFile file(*chakra::ByteSource::from_memory(bytes));
    chakra::io::NodeRecord node;
    std::string_view message;
    uint64_t ids = 0, nodes = 0;
    for (; *file.next(message); ++nodes)
      if (nodes > 0 && chakra::io::decode(message, node)) ids += node.id;
    if (nodes != kNodes + 1 || ids != uint64_t{kNodes} * (kNodes + 1) / 2) return state.SkipWithError("wrong answer");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK(BM_ScanRecords)->Unit(benchmark::kMillisecond);

/// From memory into a file of a form; bytes are those of the .et.
void convert(benchmark::State& state, const char* form) {
  const std::string bytes = chakra::io::to_et(chain());
  for (auto _ : state) {
    chakra::io::EtFile source(*chakra::ByteSource::from_memory(bytes));
    auto file = chakra::PackedFile::create(temporary(form));
    const auto sink = chakra::io::find_format(form)->create(*file, -1);
    const auto copied = chakra::io::copy_records(source, *sink);
    if (!copied || copied->nodes != kNodes || !file->commit()) return state.SkipWithError("wrong answer");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
void BM_ToJson(benchmark::State& state) { convert(state, "json"); }
BENCHMARK(BM_ToJson)->Unit(benchmark::kMillisecond);
void BM_ToEt(benchmark::State& state) { convert(state, "et"); }
BENCHMARK(BM_ToEt)->Unit(benchmark::kMillisecond);

void BM_Pack(benchmark::State& state) {
  std::vector<std::string> ranks;
  for (int64_t rank = 0; rank < 4; ++rank) ranks.push_back(chakra::io::to_et(chain(rank)));
  for (auto _ : state) {
    auto packer = chakra::pack::Packer::create(temporary("pack"));
    for (int64_t rank = 0; rank < 4; ++rank) {
      chakra::io::EtFile source(*chakra::ByteSource::from_memory(ranks[static_cast<size_t>(rank)]));
      const auto added = chakra::io::add_rank(*packer, rank, source);
      if (!added || added->nodes != kNodes) return state.SkipWithError("wrong answer");
    }
    if (!packer->finish()) return state.SkipWithError("wrong answer");
  }
  state.SetBytesProcessed(state.iterations() * 4 * static_cast<int64_t>(ranks[0].size()));
}
BENCHMARK(BM_Pack)->Unit(benchmark::kMillisecond);

void BM_ReadAWindow(benchmark::State& state) {
  for (auto _ : state) {
    auto container = chakra::pack::Container::open(temporary("pack"));
    if (!container) return state.SkipWithError("run BM_Pack first");
    auto source = chakra::io::open_rank(**container, 3, kNodes / 2, 100);
    std::string_view message;
    int count = 0;
    while (*(*source)->next(message)) ++count;
    if (count != 101) return state.SkipWithError("wrong answer");
  }
}
BENCHMARK(BM_ReadAWindow)->Unit(benchmark::kMillisecond);

}  // namespace
