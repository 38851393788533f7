// The error of a run that cannot finish: its waits.
#pragma once

#include "chakra/base/base.h"
#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Must be called when no event is left but nodes are. Fills SimInput::waits.
/// Errors: sim.stuck.cycle if a trace alone has a cycle, else sim.stuck.
Failure stuck(const Run& run, const Collectives& collectives, const Messages& messages);

}  // namespace chakra::sim
