// Linking one rank in memory, and what simdjson alone takes for the same bytes. The example job's first rank, or
// the recordings that CHAKRA_BENCH_HOST and CHAKRA_BENCH_DEVICE name. The example's answer is checked: a wrong
// one fails the benchmark.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <cstdlib>

#include "chakra/link/link.h"

namespace {

struct Recordings {
  chakra::link::RankInput input;
  bool example = true;
  std::string host, device;
};

/// Empty texts where the files cannot be read.
Recordings recordings() {
  Recordings r;
  const char *host = std::getenv("CHAKRA_BENCH_HOST"), *device = std::getenv("CHAKRA_BENCH_DEVICE");
  r.example = host == nullptr || device == nullptr;
  r.input.host = r.example ? "examples/traces/ddp_gloo_2ranks/host.0.json.gz" : host;
  r.input.device = r.example ? "examples/traces/ddp_gloo_2ranks/device.0.json.gz" : device;
  if (auto text = chakra::read_file(r.input.host)) r.host = std::move(*text);
  if (auto text = chakra::read_file(r.input.device)) r.device = std::move(*text);
  return r;
}

void BM_Link(benchmark::State& state) {
  const Recordings r = recordings();
  if (r.host.empty() || r.device.empty()) return state.SkipWithError("run it in the project's folder");
  for (auto _ : state) {
    auto linked = chakra::link::link_rank(*chakra::ByteSource::from_memory(r.host),
                                          *chakra::ByteSource::from_memory(r.device), r.input, {});
    if (!linked) return state.SkipWithError("an error");
    if (r.example && (linked->report.matched_host_ops != 8121 || linked->report.comm_bytes != 44'064'480))
      return state.SkipWithError("wrong answer");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(r.host.size() + r.device.size()));
}
BENCHMARK(BM_Link)->Unit(benchmark::kMillisecond);

void BM_BareParse(benchmark::State& state) {
  const Recordings r = recordings();
  const simdjson::padded_string texts[] = {simdjson::padded_string(r.host), simdjson::padded_string(r.device)};
  simdjson::dom::parser parser;
  for (const simdjson::padded_string& text : texts) (void)parser.parse(text);  // the memory is there then
  for (auto _ : state)
    for (const simdjson::padded_string& text : texts)
      if (parser.parse(text).error()) return state.SkipWithError("not JSON");
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(r.host.size() + r.device.size()));
}
BENCHMARK(BM_BareParse)->Unit(benchmark::kMillisecond);

}  // namespace
