// Bounds of a run in which groups of many members start late (fold.h).
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// What an actor did in the run at the lower bounds.
struct Earliest {
  Picoseconds finish = 0;
  uint64_t order = 0;             ///< a number of the order in which its queues ran their nodes
  std::vector<Picoseconds> ends;  ///< of its nodes
};
/// Take the ends of each actor. Requires a run that has ended.
std::vector<Earliest> take_earliest(Run& run);

/// Fill SimReport::late_start. `run` has ended at the upper bounds, and `earliest` is of the run at the lower bounds.
void add_bounds(const Run& run, const std::vector<Earliest>& earliest, SimReport& report);

}  // namespace chakra::sim
