// Slices per second of the two formats of a timeline, of a step as a simulation makes it: slices of a track in order.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "chakra/base/base.h"
#include "chakra/base/testing/testing.h"
#include "chakra/view/view.h"

namespace {

using namespace chakra;

result::Timeline slices_of(uint32_t count, uint32_t tracks) {
  result::Timeline t;
  for (uint32_t track = 0; track < tracks; ++track)
    t.tracks.push_back({track / 4, fmt::format("stream {}", track % 4)});
  const StringId category = t.strings.intern("COMP_NODE");
  std::vector<StringId> names;
  for (int i = 0; i < 500; ++i) names.push_back(t.strings.intern(fmt::format("kernel of layer {}", i)));
  for (uint32_t i = 0; i < count; ++i) {
    const Picoseconds start = Picoseconds{i / tracks} * 12'345'678;
    t.slices.push_back({i % tracks, names[i % names.size()], category, start, start + 11'000'001, i});
  }
  return t;
}

/// Counters and flows as in a recording of DLRM on eight ranks: 391 values and 119 flows for a thousand slices.
result::Timeline with_counters(result::Timeline t) {
  const size_t slices = t.slices.size(), values = slices * 391 / 1000, flows = slices * 119 / 1000;
  constexpr size_t kCounters = 48;
  for (size_t c = 0; c < kCounters; ++c) {
    result::Timeline::Counter& counter = t.counters.emplace_back();
    counter.rank = static_cast<int64_t>(c / 3);
    counter.name = fmt::format("waiting on device 0 stream {}", c % 3);
    counter.unit = "operations";
    for (size_t i = 0; i < values / kCounters; ++i) {
      counter.at_ps.push_back(static_cast<Picoseconds>(i) * 98'765'432);
      counter.values.push_back(static_cast<int64_t>(i * 7 % 1000));
    }
  }
  const StringId launch = t.strings.intern("launch");
  const auto slice = [&](size_t place) { return static_cast<uint32_t>(place % slices); };
  for (size_t i = 0; i < flows; ++i) t.flows.push_back({slice(i * 8), slice(i * 8 + 65), launch});
  return t;
}

void BM_WriteTimeline(benchmark::State& state, Result<void> (*write)(const result::Timeline&, const std::string&),
                      bool counters) {
  result::Timeline timeline = slices_of(static_cast<uint32_t>(state.range(0)), 64);
  if (counters) timeline = with_counters(std::move(timeline));
  const chakra::testing::TemporaryFolder folder;
  const std::string path = folder.path("timeline");
  for (auto _ : state)
    if (!write(timeline, path)) state.SkipWithError("not written");
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_slice"] = static_cast<double>(file_size(path)) / static_cast<double>(state.range(0));
}
BENCHMARK_CAPTURE(BM_WriteTimeline, perfetto, view::write_perfetto, false)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WriteTimeline, perfetto_counters, view::write_perfetto, true)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WriteTimeline, chrome, view::write_chrome_trace, false)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
