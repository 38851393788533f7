// Proof that the queues of an actor run their nodes in one order at all times between two runs (late_start.h).
#pragma once

#include <vector>

#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Return whether no queue can choose another next node while every node ends between `earliest` and its end in
/// `latest`. False also if the proof would take too long. Requires the same order of each queue in both runs; jobs
/// without delays and tiers. Cost: O(nodes log nodes + edges), and O(nodes + edges) for each queue of which nodes can
/// come first by their times alone.
bool order_is_certain(const Actor& latest, const std::vector<Picoseconds>& earliest);

}  // namespace chakra::sim
