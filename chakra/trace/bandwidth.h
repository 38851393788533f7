// What nccl-tests calls the bandwidths of a collective.
#pragma once

#include <cstdint>

#include "chakra/trace/trace.h"

namespace chakra::trace {

/// Algorithm bandwidth as a multiple of comm_size / time: of gathers it counts what all members put in.
double algorithm_factor(CommType type, uint32_t members);
/// Bus bandwidth as a multiple of the algorithm bandwidth: the rate of the links.
double bus_factor(CommType type, uint32_t members);

}  // namespace chakra::trace
