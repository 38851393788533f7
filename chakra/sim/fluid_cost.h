// How much processor time a run with the contention model `fluid` takes, before it runs.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// The most that is spent without being asked for.
inline constexpr double kMostFluidSeconds = 10;

/// Of the nodes of every rank. Cost: O(ranks).
double least_fluid_seconds(const SimInput& input);
/// Of the transfers beside that, as a run of the same job in closed form counted them.
double fluid_seconds(const SimReport& closed);

}  // namespace chakra::sim
