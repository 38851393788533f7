// Reading a program of 100,000 instructions, and a profile of a million events.
#include <benchmark/benchmark.h>

#include "chakra/xla/profile.h"
#include "chakra/xla/program.h"
#include "chakra/xla/testing/messages.h"

namespace chakra::xla {
namespace {

using namespace testing;

std::string large_program(int64_t instructions) {
  std::vector<Op> ops{{"parameter", 1, {64, 64}, {}}};
  for (int64_t id = 2; id <= instructions; ++id)
    ops.push_back({id % 8 == 0 ? "dot" : "add",
                   id,
                   {64, 64},
                   {id - 1, std::max<int64_t>(1, id - 5)},
                   {},
                   field(7, text(2, "jit(step)/jvp()/while/body/closed_call/dot_general")) +
                       (id % 8 == 0 ? field(30, list(1, {1}) + list(2, {0})) : "")});
  return program({computation(1, ops)}, 1, 8);
}

/// As JAX 0.10 writes it: an event for each executed instruction, and one that states its end.
std::string large_profile(int64_t events) {
  const std::string hlo = large_program(1000);
  std::string metadata = text(2, "/host:metadata");
  metadata += field(4, number(1, 1) + field(2, text(2, "jit_f(7)") + field(5, number(1, 1) + field(6, hlo))));
  metadata += field(5, number(1, 1) + field(2, text(2, "Hlo Proto")));
  std::string line = number(3, 5);
  const auto stat = [](int64_t id, uint32_t field_number, int64_t value) {
    return field(4, number(1, id) + number(field_number, value));
  };
  for (int64_t e = 0; e < events; ++e)
    line += field(4, number(2, e * 1000) + number(3, 900) + stat(1, 7, 10 + e % 999) + stat(2, 7, 9) + stat(3, 4, 7) +
                         stat(4, 4, e / 999) + stat(5, 4, 0) + stat(6, 3, 0) + stat(7, 3, (int64_t{1} << 32) + e)) +
            field(4, number(1, 8) + number(2, e * 1000 + 890) + number(3, 10) + stat(8, 3, (int64_t{1} << 32) + e));
  std::string host = text(2, "/host:CPU") + field(3, line);
  const std::string_view names[] = {"hlo_op",         "hlo_module", "program_id", "run_id",
                                    "device_ordinal", "_pt",        "_p",         "_c"};
  for (int64_t n = 0; n < 8; ++n) host += field(5, number(1, n + 1) + field(2, text(2, names[n])));
  host += field(5, number(1, 9) + field(2, text(2, "jit_f")));
  for (int64_t i = 0; i < 999; ++i)
    host +=
        field(5, number(1, 10 + i) + field(2, text(2, ((i + 2) % 8 == 0 ? "dot." : "add.") + std::to_string(i + 2))));
  return field(1, metadata) + field(1, host);
}

void BM_ParseProgram(benchmark::State& state) {
  const auto bytes = std::make_shared<const std::string>(large_program(100'000));
  for (auto _ : state) benchmark::DoNotOptimize(parse_program(bytes, "bench"));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes->size()));
}
BENCHMARK(BM_ParseProgram)->Unit(benchmark::kMillisecond);

void BM_ImportProgram(benchmark::State& state) {
  const std::string bytes = large_program(100'000);
  for (auto _ : state) {
    Findings findings;
    const auto job = import_program(std::move(*ByteSource::from_memory(bytes)), findings);
    if (!job || job->job.classes[0].size() != 99'999) state.SkipWithError("another number of nodes");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK(BM_ImportProgram)->Unit(benchmark::kMillisecond);

void BM_ParseProfile(benchmark::State& state) {
  const auto bytes = std::make_shared<const std::string>(large_profile(1'000'000));
  for (auto _ : state) {
    const auto profile = parse_profile(bytes, "bench");
    if (!profile || profile->events.size() != 1'000'000) state.SkipWithError("another number of events");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes->size()));
}
BENCHMARK(BM_ParseProfile)->Unit(benchmark::kMillisecond);

void BM_LinkProfile(benchmark::State& state) {
  const std::string bytes = large_profile(100'000);
  for (auto _ : state) {
    const auto linked = link_profile(std::move(*ByteSource::from_memory(bytes)));
    if (!linked || linked->devices[0].events != 100'000) state.SkipWithError("another number of events");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK(BM_LinkProfile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace chakra::xla
