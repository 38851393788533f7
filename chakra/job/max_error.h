// The largest error that is accepted: whether a recording, run again on its own graph, takes what was measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/job/job_replay.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// A replay, and by how much it is off: replayed / measured - 1; none where it could not run.
struct Replayed {
  std::string what;
  std::optional<double> error;
};
/// The job with recorded transfers, where it was compared; else nothing, or an error that is not known if `findings`
/// say that it could not run.
std::vector<Replayed> replayed_job(const std::optional<JobReplay>& job, const Findings& findings);

/// That the option has no effect, where nothing was replayed.
Findings max_error_without_effect(std::optional<double> percent, const std::vector<Replayed>& replays);
/// Whether all errors stay within `percent`, up or down. Errors: cli.max_error.
Result<void> check_errors(std::optional<double> percent, const std::vector<Replayed>& replays);

}  // namespace chakra::job
