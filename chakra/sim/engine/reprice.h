// The critical path of a run, priced on other networks.
#pragma once

#include <vector>

#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Return the increase of the critical path's transfer times on each of SimInput::other_fabrics,
/// with all participants arriving as in this run. Transfers with a given time stay. Requires
/// closed form and the path. Cost: for each fabric the price of each collective of the path.
std::vector<Picoseconds> reprice_path(const Run& run);

}  // namespace chakra::sim
