// What both simulators refuse (refusals.cpp).
#pragma once

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// Errors: sim.trace.defect; with Code::stuck sim.stuck.cycle for a node that waits for itself.
Result<void> check_defects(const trace::Trace& trace);

/// sim.time: the job lasts kLongestPs or longer.
tl::unexpected<Error> too_long();

}  // namespace chakra::sim
