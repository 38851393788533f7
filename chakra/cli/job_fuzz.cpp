// Any bytes as the trace of one rank: what reads traces must stand whatever a file says.
#include <cstddef>
#include <cstdint>

#include "chakra/check/check.h"
#include "chakra/io/io.h"
#include "chakra/net/net.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  auto source = ByteSource::from_memory({reinterpret_cast<const char*>(data), size});
  if (!source) return 0;
  auto read = io::read_et(std::move(*source));
  if (!read || read->rank > 7) return 0;
  sim::SimInput input;
  input.fabric = *net::parse_fabric(
      *parse_spec("topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n", "net.yml"));
  input.timeline = true;
  (void)sim::self_replay(*read);
  input.job.ranks.push_back(std::move(*read));
  (void)check::check(input.job);
  Findings findings;
  (void)view::timeline_of(input.job, findings);
  if (const auto report = sim::simulate(input))
    for (const sim::RankReport& r : report->ranks)
      if (r.compute_ps + r.exposed_comm_ps + r.idle_ps != r.finish_ps) __builtin_trap();
  return 0;
}
