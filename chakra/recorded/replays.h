// Self-checks of recorded jobs: starts of ranks on one clock, and runs for the comparison.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/recorded/compare_ranks.h"
#include "chakra/recorded/job_replay.h"
#include "chakra/sim/sim.h"

namespace chakra::recorded {

/// Set the start of the rank in the trace of each rank with a span. Requires the clocks and the spans of these ranks.
/// Findings: sim.start.clock.
void put_starts(trace::TraceSet& job, const std::vector<Span>& spans, const analyze::JobTimes& times,
                Findings& findings);
/// Return the job with recorded transfers; nullopt if a comparison is impossible, or the job cannot run.
/// Findings: sim.job.not_replayed; as for replay_recorded and JobReplay.
std::optional<JobReplay> replay_linked(trace::TraceSet&& job, Findings& findings);

/// Return one switch for all ranks: with given transfers, a run uses only the size of the network. Requires a rank.
net::Fabric any_fabric(const trace::TraceSet& job);

struct RecordingOptions {
  std::string path;  ///< of the job
  bool compat = false, align_starts = false, recorded_transfers = false;
  std::vector<std::string> network_options;  ///< options given that have no effect if no transfer is simulated
};
/// Apply the options to a loaded job. If a comparison with the measurement is possible: run the job with recorded
/// transfers, and make the run of the caller keep the data for JobReplay::add(). Findings: sim.option.no_effect,
/// sim.compat.ignored; as for replay_recorded and JobReplay.
/// Errors: as for sim::simulate.
Result<std::optional<JobReplay>> use_recording(const RecordingOptions& options, sim::SimInput& input,
                                               Findings& findings);

}  // namespace chakra::recorded
