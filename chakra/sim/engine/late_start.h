// Bounds of a run in which groups of many members start late (fold.h).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// The finish of each actor, and a number of the order in which its queues ran their nodes.
using Finishes = std::vector<std::pair<Picoseconds, uint64_t>>;
/// Requires a run that has ended.
Finishes finishes_of(const Run& run);

/// Fill SimReport::late_start. `run` has ended at the upper bounds, and `earliest` is of the run at the lower bounds.
void add_bounds(const Run& run, const Finishes& earliest, SimReport& report);

}  // namespace chakra::sim
