// What a run that cannot finish says: who waits for whom.
#pragma once

#include "chakra/base/base.h"
#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// To be called when nothing can happen any more and nodes are left. Fills SimInput::waits.
/// Errors: sim.stuck.cycle where a trace alone is at fault, else sim.stuck.
Failure stuck(const Run& run, const Collectives& collectives, const Messages& messages);

}  // namespace chakra::sim
