// Feeding a generated file of ten million nodes in at most 256 MB, whatever the order in which it was written. The
// answer is checked, the memory too.
//
//   compat_bench                     all orders
//   compat_bench --benchmark_filter=FeedTenMillion/0     one: 0 in order, 1 reversed, 2 blocks shuffled, 3 shuffled
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "chakra/compat/compat.h"
#include "chakra/feed/feed.h"
#include "chakra/io/io.h"

namespace {

constexpr uint64_t kMostBytes = 256'000'000;

uint64_t nodes_wanted() {
  const char* const given = ::getenv("CHAKRA_BENCH_NODES");
  return given ? std::strtoull(given, nullptr, 10) : 10'000'000;
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// What node `id` waits for depends on the id alone, so that it can be checked without keeping it.
size_t deps_of(uint64_t id, std::array<uint64_t, 3>& deps) {
  chakra::Prng random(id);
  size_t count = 0;
  if (id > 0) deps[count++] = id - 1 - random.below(std::min<uint64_t>(id, 4));
  if (id > 0 && random.chance(0.5)) deps[count++] = id - 1 - random.below(std::min<uint64_t>(id, 1000));
  if (id > 0 && random.chance(0.1)) deps[count++] = random.below(id);
  return count;
}

/// The k-th id of the file.
uint64_t id_at(int order, uint64_t k, uint64_t nodes) {
  constexpr uint64_t kBlock = 4096;
  switch (order) {
    case 1: return nodes - 1 - k;
    case 2: {  // blocks of neighbours in another order
      const uint64_t blocks = nodes / kBlock;
      if (k >= blocks * kBlock) return k;
      return (k / kBlock * 7919 % blocks) * kBlock + k % kBlock;
    }
    case 3: {  // 2654435761 and the size have no common divisor for powers of ten
      return static_cast<uint64_t>(static_cast<unsigned __int128>(k) * 2654435761u % nodes);
    }
    default: return k;
  }
}

std::string write_file(int order, uint64_t nodes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("chakra-bench-" + std::to_string(order) + ".et")).string();
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file) return "";
  std::string message, out;
  message = std::string("\x0a\x05") + "0.0.4";  // metadata: version
  put_varint(out, message.size());
  out += message;
  for (uint64_t k = 0; k < nodes; ++k) {
    const uint64_t id = id_at(order, k, nodes);
    std::array<uint64_t, 3> deps{};
    const size_t count = deps_of(id, deps);
    message = "\x08";
    put_varint(message, id);
    message += std::string("\x12\x09") + "aten::mul";
    message += "\x18\x04";
    std::string packed;
    for (size_t d = 0; d < count; ++d) put_varint(packed, deps[d]);
    if (count > 0) message += "\x2a", put_varint(message, packed.size()), message += packed;
    message += "\x38\x05";
    put_varint(out, message.size());
    out += message;
    if (out.size() > (1 << 20) || k + 1 == nodes) {
      std::fwrite(out.data(), 1, out.size(), file);
      out.clear();
    }
  }
  std::fclose(file);
  return path;
}

uint64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
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

/// CHAKRA_BENCH_FILE: how long it takes to walk a file of one's own, by our feeder and by the peer's interface.
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
