// Where collectives and messages of a run in closed form would have met.
#pragma once

#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Fills SimReport::sharing. Takes the spans of the messages. Cost: that of SharedLinks.
void find_sharing(Run& run, const Collectives& collectives, Messages& messages);

}  // namespace chakra::sim
