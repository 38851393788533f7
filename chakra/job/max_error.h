// Largest accepted error of the self-check of a recording.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/job/job_replay.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// A simulation of a recording and the error: simulated / measured - 1; nullopt if the simulation could not run.
struct Replayed {
  std::string what;
  std::optional<double> error;
};
/// Return the comparison of the job with recorded transfers, if any; else an empty list, or an entry without error if
/// `findings` report that the job could not run.
std::vector<Replayed> replayed_job(const std::optional<JobReplay>& job, const Findings& findings);

/// Return a finding (no effect) if the option is given and the list is empty.
Findings max_error_without_effect(std::optional<double> percent, const std::vector<Replayed>& replays);
/// Check that all errors stay within +-`percent`. Errors: cli.max_error.
Result<void> check_errors(std::optional<double> percent, const std::vector<Replayed>& replays);

}  // namespace chakra::job
