// Simulated time of a job on five networks that differ in shape and rate.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/net/net.h"
#include "chakra/sim/sim.h"

namespace chakra::certify {

inline constexpr std::array<std::string_view, 5> kNetworkNames{"switch", "switch_in_nodes", "pairs_in_nodes",
                                                               "ring_in_nodes", "torus"};
/// Return the five networks for this number of ranks. Requires ranks > 0. Errors: as for net::parse_fabric, such as
/// net.file.value for too many ranks. Cost: O(sqrt(ranks)).
Result<std::vector<net::Fabric>> networks_of(int64_t ranks);

/// Return the time of the job on each network, in closed form. `job` has the traces, as ranks or classes. Errors: as
/// for sim::simulate. Cost: that of five simulations.
Result<std::vector<double>> simulated_times(sim::SimInput job, const std::vector<net::Fabric>& networks);

}  // namespace chakra::certify
