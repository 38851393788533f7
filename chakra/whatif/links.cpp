// Faults of the network: a slow link, a link that is gone.
#include <fmt/core.h>

#include "chakra/net/change.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

/// How many communication nodes the network prices, and so may feel a link.
Result<Reached> priced(sim::SimInput& input, std::string_view option, std::string_view value) {
  Reached reached;
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    const trace::Trace& t = input.job.ranks[r];
    for (const trace::NodeId n : t.nodes())
      reached.nodes += trace::is_comm(t.type[n]) &&
                       !(input.transfers && input.transfers->find(static_cast<uint32_t>(r), t.comm_row[n]));
  }
  return reached_something(reached, option, value,
                           "no network prices the job's transfers; use --from-network FILE or --network FILE");
}

}  // namespace

Result<Reached> change_slow_link(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const Scaled scaled, parse_scaled(value, "A-B=X", 1 / kMostFactor, kMostFactor));
  CHAKRA_ASSIGN(const Reached reached, priced(input, "slow-link", value));
  CHAKRA_ASSIGN(const auto link, net::find_link(input.fabric, scaled.what));
  CHAKRA_ASSIGN(input.fabric, net::with_slow_link(input.fabric, link, scaled.factor));
  return reached;
}

Result<Reached> change_fail_link(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const Reached reached, priced(input, "fail-link", value));
  CHAKRA_ASSIGN(const auto link, net::find_link(input.fabric, value));
  CHAKRA_ASSIGN(input.fabric, net::without_link(input.fabric, link));
  return reached;
}

}  // namespace chakra::whatif
