#include "chakra/sim/fold.h"

#include <numeric>

#include "chakra/sim/ties.h"

namespace chakra::sim {

Folded fold(trace::ClassJob&& job, const match::GroupTable& table, const device::System& system, const Storage& storage,
            Prices& prices, const net::Fabric& fabric, bool whole) {
  const Ties ties = find_ties(job, table, prices);
  std::vector<uint32_t> colors(job.ranks.size());
  if (whole) std::iota(colors.begin(), colors.end(), uint32_t{0});
  else colors = refine(job, ties, node_mates(job, storage, system), system, prices, fabric);
  return make_actors(std::move(job), ties, std::move(colors));
}

}  // namespace chakra::sim
