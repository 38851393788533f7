// Estimates of the processor time of a run with the contention model `fluid`, before the run.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// Largest processor time that `automatic` spends.
inline constexpr double kMostFluidSeconds = 10;

/// Estimate the cost of the nodes of every rank. Cost: O(ranks).
double least_fluid_seconds(const SimInput& input);
/// Estimate the additional cost of transfers, as counted by a run of the same job in closed form.
double fluid_seconds(const SimReport& closed);

}  // namespace chakra::sim
