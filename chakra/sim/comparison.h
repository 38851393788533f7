// Two jobs that are compared, such as one before and after a change: both with the same contention model.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// Simulate with the congestion `automatic` a job that is compared with another one. As simulate(), but the findings
/// about an answer in closed form advise to compare two jobs.
Result<SimReport> simulate_to_compare(SimInput input);

/// Make two runs of simulate_to_compare() with different contention models comparable: simulate the job that is in
/// closed form with `fluid`, or, if that is impossible or takes too long, the other one in closed form. Requires the
/// inputs of the runs. Cost: a simulation.
Result<void> simulate_alike(SimInput closed_input, SimReport& closed, SimInput fluid_input, SimReport& fluid);

}  // namespace chakra::sim
