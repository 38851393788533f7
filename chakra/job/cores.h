// Number of cores that a process uses.
#pragma once

#include <cstdint>

namespace chakra::job {

/// Limit all later calls to this number of cores: `link` of several ranks, `calibrate`. 0: all cores of the machine.
/// Requires cores >= 0. Must not be called while another call runs.
void use_cores(int64_t cores);
/// Return the limit, or the number of cores of the machine.
int cores();

}  // namespace chakra::job
