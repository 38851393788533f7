// One run of a job by one rule of who shares links.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// As simulate(). Requires another congestion than automatic.
Result<SimReport> run_engine(SimInput input);

}  // namespace chakra::sim
