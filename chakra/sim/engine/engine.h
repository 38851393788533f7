// One run of a job with one contention model.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// Run a job as simulate() does. Requires a congestion other than automatic.
Result<SimReport> run_engine(SimInput input);

}  // namespace chakra::sim
