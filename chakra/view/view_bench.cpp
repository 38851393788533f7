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

void BM_WriteTimeline(benchmark::State& state, Result<void> (*write)(const result::Timeline&, const std::string&)) {
  const result::Timeline timeline = slices_of(static_cast<uint32_t>(state.range(0)), 64);
  const chakra::testing::TemporaryFolder folder;
  const std::string path = folder.path("timeline");
  for (auto _ : state)
    if (!write(timeline, path)) state.SkipWithError("not written");
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_slice"] = static_cast<double>(file_size(path)) / static_cast<double>(state.range(0));
}
BENCHMARK_CAPTURE(BM_WriteTimeline, perfetto, view::write_perfetto)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WriteTimeline, chrome, view::write_chrome_trace)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
