// Feeding a generated file of ten million nodes in at most 256 MB, whatever the order in which it was written. The
// answer is checked; so is the memory.
//
//   feeders_bench                     all orders
//   feeders_bench --benchmark_filter=FeedTenMillion/0     one: 0 in order, 1 reversed, 2 blocks shuffled, 3 shuffled
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "chakra/feed/feed.h"
#include "chakra/feeders/feeders.h"
#include "chakra/feeders/testing/many_nodes.h"
#include "chakra/io/io.h"

namespace {

using namespace chakra::feeders::testing;

constexpr uint64_t kMostBytes = 256'000'000;

uint64_t nodes_wanted() {
  const char* const given = ::getenv("CHAKRA_BENCH_NODES");
  return given ? std::strtoull(given, nullptr, 10) : 10'000'000;
}

void BM_FeedTenMillion(benchmark::State& state) {
  const uint64_t nodes = nodes_wanted();
  const std::string path = write_file(static_cast<int>(state.range(0)), nodes);
  for (auto _ : state) {
    auto source = chakra::io::open_nodes(path);
    if (!source) return state.SkipWithError(source.error().message().c_str());
    chakra::feed::StreamFeeder feeder(std::move(*source));
    std::vector<bool> done(nodes);
    std::vector<uint64_t> running;  // sixteen at a time
    uint64_t count = 0;
    for (;;) {
      const chakra::trace::StreamedNode* node = nullptr;
      if (running.size() < 16) {
        auto next = feeder.next();
        if (!next) return state.SkipWithError(next.error().message().c_str());
        node = *next;
      }
      if (!node) {
        if (running.empty()) break;
        done[running.front()] = true;
        if (!feeder.done(running.front())) return state.SkipWithError("not running");
        running.erase(running.begin());
        continue;
      }
      std::array<uint64_t, 3> deps{};
      const size_t waits = deps_of(node->id, deps);
      for (size_t d = 0; d < waits; ++d)
        if (!done[deps[d]]) return state.SkipWithError("before its dependency");
      running.push_back(node->id);
      ++count;
    }
    if (count != nodes || !feeder.finished()) return state.SkipWithError("not all nodes");
    state.counters["spilled"] = static_cast<double>(feeder.stats().spilled);
  }
  state.counters["peak_MB"] = static_cast<double>(peak_bytes()) / 1e6;
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
  std::filesystem::remove(path);
  if (peak_bytes() > kMostBytes) state.SkipWithError("more than 256 MB");
}
BENCHMARK(BM_FeedTenMillion)->DenseRange(0, 3)->Iterations(1)->Unit(benchmark::kMillisecond);

/// 800,000 nodes in order (0) or shuffled (3), walked as a simulator does: by open_nodes alone, and by the
/// mlcommons/chakra interface. What the process has taken in all is shown, so run one at a time.
void BM_Load(benchmark::State& state) {
  const std::string path = write_file(static_cast<int>(state.range(1)), kLoaded);
  for (auto _ : state) {
    std::vector<bool> done(kLoaded);
    uint64_t count = 0;
    if (state.range(0) == 0) {
      auto source = chakra::io::open_nodes(path);
      if (!source) return state.SkipWithError(source.error().message().c_str());
      chakra::trace::StreamedNode node;
      for (auto more = (*source)(node); more && *more; more = (*source)(node)) ++count;
    } else {
      Chakra::ETFeeder feeder(path);
      while (feeder.hasNodesToIssue()) {
        const auto node = feeder.getNextIssuableNode();
        if (!after_its_deps(node->id(), done)) return state.SkipWithError("before its dependency");
        feeder.freeChildrenNodes(node->id());
        feeder.removeNode(node->id());
        ++count;
      }
    }
    if (count != kLoaded) return state.SkipWithError("not all nodes");
  }
  state.counters["peak_MB"] = static_cast<double>(peak_bytes()) / 1e6;
  std::filesystem::remove(path);
}
BENCHMARK(BM_Load)->ArgsProduct({{0, 1}, {0, 3}})->Iterations(1)->Unit(benchmark::kMillisecond);

/// CHAKRA_BENCH_FILE: how long it takes to walk the user's own file, by our feeder and by mlcommons/chakra's interface.
void BM_FeedFile(benchmark::State& state) {
  const char* const path = ::getenv("CHAKRA_BENCH_FILE");
  if (!path) return state.SkipWithError("CHAKRA_BENCH_FILE names no file");
  for (auto _ : state) {
    uint64_t count = 0;
    if (state.range(0) == 0) {
      auto source = chakra::io::open_nodes(path);
      if (!source) return state.SkipWithError(source.error().message().c_str());
      chakra::feed::StreamFeeder feeder(std::move(*source));
      for (auto next = feeder.next(); next && *next; next = feeder.next(), ++count) (void)feeder.done((*next)->id);
      if (!feeder.finished()) return state.SkipWithError("not all nodes");
    } else {
      Chakra::ETFeeder feeder(path);
      for (; feeder.hasNodesToIssue(); ++count) {
        const auto node = feeder.getNextIssuableNode();
        feeder.freeChildrenNodes(node->id());
        feeder.removeNode(node->id());
      }
    }
    state.counters["nodes"] = static_cast<double>(count);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::filesystem::file_size(path)));
}
BENCHMARK(BM_FeedFile)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

}  // namespace
