// The critical path of a run that has ended.
#pragma once

#include <vector>

#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// From the last node backwards, always to what it waited for last: a dependency, the node before in its queue, the
/// last to arrive at a collective (with SimInput::decisive_path the one that decided when it ended), the sender of a
/// message. In the order of time. Requires the report's makespan. Cost: O(nodes and edges on the path).
std::vector<PathPiece> find_critical_path(Run& run, const Messages& messages);

}  // namespace chakra::sim
