// Any bytes as the file of a sweep: reading and selecting must end with points or an error, within seconds.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "chakra/sweep/space.h"

namespace {

struct Asked {
  int64_t tp = 1, pp = 1;
  double share = 0;
  std::string network, job;
  std::vector<std::string> delay;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  const auto spec = parse_spec({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!spec) return 0;
  Asked asked;
  std::vector<sweep::Section> sections{
      {"generate",
       {{"--tp", &asked.tp, "", "N", options::whole_number(1, 64)}, {"--micro-batches", &asked.pp, "", "N"}},
       {}},
      {"job", {{"path", &asked.job, "", "PATH"}}, {}, true},
      {"simulate",
       {{"--network", &asked.network, "", "FILE"}, {"--delay", &asked.delay, "", "X"}, {"--share", &asked.share, ""}},
       {"share"}}};
  const auto begin = std::chrono::steady_clock::now();
  auto plan = sweep::read_plan(*spec, sections, std::array<std::string_view, 1>{"point"});
  if (!plan) {
    if (plan.error().tag.empty()) __builtin_trap();
    return 0;
  }
  if (plan->size().value_or(UINT64_MAX) > 100'000) return 0;  // a limit of time, not of the room
  Findings findings;
  const auto points = sweep::select_points(*plan, findings);
  if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) __builtin_trap();
  if (!points) {
    if (points.error().tag.empty()) __builtin_trap();
    return 0;
  }
  for (const uint64_t point : *points)
    if (sweep::choices_of(*plan, point).size() != plan->dimensions.size()) __builtin_trap();
  if (plan->sample && points->size() > static_cast<size_t>(*plan->sample)) __builtin_trap();
  return 0;
}
