// The timeline of a recorded job, with its ranks on one clock.
#pragma once

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

/// Make the timeline of the traces (view::timeline_of). If `chakra link` has estimated the clocks of all measured ranks
/// (recorded::JobClock), the ranks are on the clock of the job, and lose their Trace::base_ns. Otherwise each rank is
/// on its own clock. Findings: view.clocks, those of view::timeline_of. Errors: sim.start, those of view::timeline_of.
/// Cost: O(nodes + edges).
Result<result::Timeline> timeline_of(trace::TraceSet& job, Findings& findings);

}  // namespace chakra::job
