#include "chakra/certify/networks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/match/match.h"

namespace chakra::certify {
namespace {

/// The largest factor of the number up to `most`.
int64_t factor_of(int64_t number, int64_t most) {
  for (int64_t factor = std::min(number, most); factor > 1; --factor)
    if (number % factor == 0) return factor;
  return 1;
}
int64_t root_of(int64_t number) {
  int64_t root = 1;
  while (root + 1 <= number / (root + 1)) ++root;
  return root;
}

}  // namespace

Result<std::vector<net::Fabric>> networks_of(int64_t ranks) {
  constexpr int64_t kNode = 8;
  const int64_t node = factor_of(ranks, kNode), side = factor_of(ranks, root_of(ranks));
  // Of nodes: fast inside, with a switch above. No ring has all ranks: its collectives would take minutes to price.
  const auto nodes = [&](std::string_view inside, std::string_view rates, std::string_view latencies) {
    return fmt::format("{{topology: [{}, Switch], npus_count: [{}, {}], bandwidth: [{}], latency: [{}]}}", inside, node,
                       ranks / node, rates, latencies);
  };
  const std::array<std::string, kNetworkNames.size()> texts{
      fmt::format("{{topology: [Switch], npus_count: [{}], bandwidth: [25], latency: [900]}}", ranks),
      nodes("Switch", "400, 50", "300, 2000"), nodes("FullyConnected", "100, 20", "700, 1500"),
      nodes("Ring", "50, 12", "500, 1000"),
      fmt::format("{{topology: [Ring, Ring], npus_count: [{}, {}], bandwidth: [80, 80], latency: [600, 600]}}", side,
                  ranks / side)};
  std::vector<net::Fabric> networks;
  for (const std::string& text : texts) {
    CHAKRA_ASSIGN(const Spec spec, parse_spec(text, "network"));
    CHAKRA_ASSIGN(net::Fabric network, net::parse_fabric(spec));
    networks.push_back(std::move(network));
  }
  return networks;
}

Result<std::vector<double>> simulated_times(sim::SimInput job, const std::vector<net::Fabric>& networks) {
  if (!job.classes) job.matching = match::match(job.job);
  std::vector<double> times;
  for (size_t i = 0; i < networks.size(); ++i) {
    CHAKRA_TRY(keep_going(i, networks.size()));
    sim::SimInput input = sim::copy_whole(job);
    input.fabric = networks[i];
    CHAKRA_ASSIGN(const sim::SimReport report, sim::simulate(std::move(input)));
    times.push_back(static_cast<double>(report.makespan_ps));
  }
  return times;
}

}  // namespace chakra::certify
