// Contention between collectives and messages that a run in closed form ignores.
#pragma once

#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Fill SimReport::sharing. Takes the spans of the messages. Cost: that of SharedLinks.
void find_sharing(Run& run, const Collectives& collectives, Messages& messages);

}  // namespace chakra::sim
