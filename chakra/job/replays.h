// Recorded jobs against their own measurement: the starts of ranks by one clock, and the runs that are compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/job/job_replay.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// Puts into each measured trace when its rank began. Requires the clocks of these traces. Findings: sim.start.clock.
void put_starts(trace::TraceSet& job, const analyze::JobTimes& times, Findings& findings);
/// The job with recorded transfers; nothing where there is nothing to compare, or it cannot run.
/// Findings: sim.job.not_replayed, and those of replay_recorded and JobReplay.
std::optional<JobReplay> replay_linked(trace::TraceSet&& job, Findings& findings);

/// One switch for all ranks: a run whose transfers are given asks it for nothing but its size. Requires a rank.
net::Fabric any_fabric(const trace::TraceSet& job);

struct RecordingOptions {
  std::string path;  ///< of the job
  bool compat = false, align_starts = false, recorded_transfers = false;
  std::vector<std::string> network_options;  ///< that were given and have no effect where no transfer is priced
};
/// Applies them to a job that was read. Where it can be compared with its measurement: runs it with recorded
/// transfers, and has the caller's run keep what JobReplay::add() needs. Findings: sim.option.no_effect,
/// sim.compat.ignored, and those of replay_recorded and JobReplay.
/// Errors: those of sim::simulate.
Result<std::optional<JobReplay>> use_recording(const RecordingOptions& options, sim::SimInput& input,
                                               Findings& findings);

}  // namespace chakra::job
