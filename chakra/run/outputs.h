// Output files of a job that ran for real, and of the flows of a job.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/job/parts.h"
#include "chakra/run/replay.h"

namespace chakra::run {

/// Return the file names of this process, before the run: a launcher passes the same names to all processes. Errors:
/// cli.usage if several ranks would write the same file, if {rank} has no meaning, and if an output would replace an
/// input; as for replay_process() and io::find_ranks.
Result<ReplayOutputs> replay_outputs(const ReplayOptions& options);
/// Prepare traces and tables (published together with the JSON of the caller) and the timeline. Requires an executed
/// job for traces. Errors: base.file.*; as for io::write_et and view::write_timeline. Cost: O(nodes).
Result<job::Outputs> made_outputs(const ReplayedJob& job, const answer::Answer& answer, const ReplayOutputs& outputs);

/// Write the schedule as CSV, or as JSON if the name ends in .json. Errors: base.file.*.
Result<void> write_flows(const replay_fabric::FlowSchedule& schedule, const std::string& path);
answer::Answer answer_of(const replay_fabric::FlowSchedule& schedule);
/// Return the line "flows.csv: 24 flows of 3 operations, 1.5 MiB".
std::string flows_line(const replay_fabric::FlowSchedule& schedule, const std::string& path);

}  // namespace chakra::run
