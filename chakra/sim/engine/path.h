// The critical path of a run that has ended.
#pragma once

#include <vector>

#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Go back from the last node, always to the last cause of a wait: a dependency, the previous node in the queue,
/// the last arrival at a collective (or, with SimInput::decisive_path, the decisive one), or the sender of a
/// message. Return the path in time order. Requires the report's makespan. Cost: O(nodes and edges on the path).
std::vector<PathPiece> find_critical_path(Run& run, const Messages& messages);

}  // namespace chakra::sim
