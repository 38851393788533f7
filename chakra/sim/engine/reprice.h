// The critical path of a run, priced on other networks.
#pragma once

#include <vector>

#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// By how much longer the transfers of the report's critical path take on each of SimInput::other_fabrics, all that
/// take part in them coming when they did. Transfers whose time is given stay. Requires closed form and the path.
/// Cost: for each fabric the price of each collective of the path.
std::vector<Picoseconds> reprice_path(const Run& run);

}  // namespace chakra::sim
