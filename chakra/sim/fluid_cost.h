// How much processor time a run with the contention model `fluid` takes, before it runs.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// The most that is spent without being asked for.
inline constexpr double kMostFluidSeconds = 10;

/// What every rank's nodes take, whatever they do. Cost: O(ranks).
double least_fluid_seconds(const SimInput& input);
/// By a run of the same job in closed form.
double fluid_seconds(const SimReport& closed);

}  // namespace chakra::sim
