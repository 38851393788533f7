// Recorded times by the clock of the job, and the time of each collective and message after the last participant has
// come.
#pragma once

#include <cstdint>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::recorded {

/// Converts a rank's times to the clock of its job.
class JobClock {
 public:
  /// Without a recorded start, times count from 0. Errors: sim.start. Cost: O(nodes).
  static Result<JobClock> of(const trace::Trace& trace);

  bool known() const { return known_; }    ///< the trace has a recorded start
  Picoseconds at(Picoseconds time) const;  ///< of a time as in Trace::start_ps

 private:
  bool known_ = false;
  Picoseconds first_ = 0;  ///< first start by the rank's clock
  Picoseconds start_ = 0;
  double rate_ = 1;  ///< seconds of job time per second of rank time
};

/// Return the number of communication nodes of recorded ranks without
/// a duration, because kernels were not recorded. Cost: O(nodes).
int64_t comms_without_duration(const trace::TraceSet& job);

/// Compute the transfers as recorded, by the clock of the job. The time of a collective is its members' last
/// end minus last start; of a message the receive's end minus the later start; also each member's end. If no
/// member can end before the last one comes (match::ends_together, with data), all members wait, whatever
/// the clocks show. Pieces of communication are included. A node with a duration but without a start counts
/// as starting and ending when its dependencies have ended. Unknown if a member is missing, has no time, or
/// its rank has no recorded start. Errors: sim.start. Cost: O(nodes + edges of communication nodes).
Result<sim::Transfers> recorded_transfers(const trace::TraceSet& job, const match::Matching& matching);

}  // namespace chakra::recorded
