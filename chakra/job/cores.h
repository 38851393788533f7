// How many cores a process takes.
#pragma once

#include <cstdint>

namespace chakra::job {

/// From now on calls work on at most this number of cores: `link` of several ranks, `calibrate`. 0: all of the machine.
/// Requires cores >= 0. Not while a call runs.
void use_cores(int64_t cores);
/// How many that are.
int cores();

}  // namespace chakra::job
