// The report of a run: breakdown of ranks' time, cost of collectives, traffic of links.
#pragma once

#include <map>

#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Fill the report's makespan, ranks, actors, collectives and links. Findings: sim.closed.shared.
void summarize(Run& run, const std::map<CollectiveKind, CollectiveTotals>& totals);

}  // namespace chakra::sim
