// Any bytes as the trace of one rank: what reads traces must stand whatever a file says.
#include <array>
#include <cstddef>
#include <cstdint>

#include "chakra/analyze/analyze.h"
#include "chakra/astra/astra.h"
#include "chakra/check/check.h"
#include "chakra/io/io.h"
#include "chakra/net/net.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace {

/// The same trace on four ranks, by the rules of ASTRA-sim; the file's last byte chooses among them.
void simulate_as_astra(const uint8_t* data, size_t size) {
  using namespace chakra;
  const unsigned choice = data[size - 1];
  astra::Input input;
  const bool several = choice & 1;
  input.fabric = *net::parse_fabric(
      *parse_spec(several ? "topology: [Ring, Switch]\nnpus_count: [2, 2]\nbandwidth: [50, 20]\nlatency: [500, 50]\n"
                          : "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n",
                  "net.yml"));
  for (int64_t rank = 0; rank < input.fabric.size(); ++rank) {
    auto read = io::read_et(*ByteSource::from_memory({reinterpret_cast<const char*>(data), size}));
    if (!read) return;
    read->rank = rank;
    input.job.ranks.push_back(std::move(*read));
  }
  static constexpr std::array<const char*, 8> kAlgorithms{
      "ring", "direct", "halvingDoubling", "doubleBinaryTree", "oneDirect", "direct2", "oneRing", "oneHalvingDoubling"};
  input.system.splits_given = true;
  input.system.splits = 2;
  input.system.roofline = choice & 2;
  input.system.peak_flop_per_s = input.system.memory_bytes_per_s = 1e12;
  input.system.local_bw_aware = choice & 4;
  input.system.all_reduce = input.system.all_gather = input.system.reduce_scatter = input.system.all_to_all =
      std::vector<std::string>(several ? 2 : 1, kAlgorithms[choice >> 3 & 7]);
  input.options.congestion_aware = !several && (choice & 64) != 0;
  input.options.rendezvous = choice & 128;
  if (const auto report = astra::simulate(input))
    if (report->ranks.size() != 4) __builtin_trap();
}

}  // namespace

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
  (void)analyze::self_replay(*read);
  input.job.ranks.push_back(std::move(*read));
  (void)check::check(input.job);
  Findings findings;
  (void)view::timeline_of(input.job, findings);
  if (const auto report = sim::simulate(std::move(input)))
    for (const sim::RankReport& r : report->ranks)
      if (r.compute_ps + r.exposed_comm_ps + r.host_ps + r.bubble_ps + r.idle_ps != r.finish_ps) __builtin_trap();
  simulate_as_astra(data, size);
  return 0;
}
