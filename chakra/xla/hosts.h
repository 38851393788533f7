// Devices and runs of several hosts as one job. Inside the room.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "chakra/xla/program.h"

namespace chakra::xla {

/// The ranks of devices, where these differ.
using Ranks = std::map<int64_t, int64_t>;

/// JAX gives the CPU devices of process P the numbers 2048 P and higher; ranks have no gaps. Other devices are their
/// own ranks, and the result is empty.
Ranks ranks_of(const std::set<int64_t>& devices);
/// Set ranks in the place of devices.
void set_ranks(const Ranks& ranks, Program& program);

}  // namespace chakra::xla
