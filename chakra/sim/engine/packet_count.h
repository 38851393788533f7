// How many packets a job sends: a run with Congestion::packet plays out each of them, so it is refused where they are
// more than any run can end with.
#pragma once

#include "chakra/base/base.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// To be called before the run begins. Errors: sim.packets.
/// Cost: O(collectives and messages), and once for each plan its rounds and what their lists hold.
Result<void> check_packets(Run& run);

}  // namespace chakra::sim
