// Files of a job that was run for real, and of its flows.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/job/outputs.h"
#include "chakra/job/replay.h"

namespace chakra::job {

/// Empty: none. In each name {rank} stands for the rank that this process is.
struct ReplayOutputs {
  std::string traces = {};  ///< prefix: PREFIX.<rank>.et with the times of the last repetition
  std::string timeline = {};
  std::string csv = {};   ///< prefix: PREFIX.<table>.csv
  std::string json = {};  ///< "-": the caller prints it
};

/// The names that this process writes, before the job runs: a launcher gives all processes the same ones. Errors:
/// cli.usage where several ranks would write the same file, where {rank} has no meaning, and where an output would
/// replace an input; those of replay_process() and io::find_ranks.
Result<ReplayOutputs> replay_outputs(const ReplayOptions& options, ReplayOutputs outputs);
/// Traces and tables, which appear with the caller's JSON, and the timeline. Requires: a job that ran, where there are
/// traces. Errors: base.file.*, those of io::write_et and view::write_chrome_trace. Cost: O(nodes).
Result<Outputs> made_outputs(const ReplayedJob& job, const answer::Answer& answer, const ReplayOutputs& outputs);

/// The schedule as CSV, or as JSON to a name in .json. Errors: base.file.*.
Result<void> write_flows(const replay::FlowSchedule& schedule, const std::string& path);
answer::Answer answer_of(const replay::FlowSchedule& schedule);
/// "flows.csv: 24 flows of 3 operations, 1.5 MiB", a line.
std::string flows_line(const replay::FlowSchedule& schedule, const std::string& path);

}  // namespace chakra::job
