// The report of a run: where ranks' time went, what collectives cost, what links carried.
#pragma once

#include <map>

#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Fills the report's makespan, ranks, actors, collectives and links. Findings: sim.closed.shared.
void summarize(Run& run, const std::map<CollectiveKind, CollectiveTotals>& totals);

}  // namespace chakra::sim
