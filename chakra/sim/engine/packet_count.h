// Number of packets of a job. A run with Congestion::packet simulates each
// packet, so this check rejects jobs with more packets than any run can complete.
#pragma once

#include "chakra/base/base.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// Must be called before the run begins. Errors: sim.packets. Cost: O(collectives
/// and messages), and once for each plan its rounds and the entries of their lists.
Result<void> check_packets(Run& run);

}  // namespace chakra::sim
