// Functions of the rows of kAnalyses, one file each.
#pragma once

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {

using Analysis = Result<std::vector<NamedTable>>(const Job& job, Findings& findings);
Analysis kernels, operators, launches, queues, bandwidth, work, idle_causes, copies, shapes, modules, sequences,
    step_times, diagnosis;

/// Tables of the analysis of stragglers. Requires the times of this job.
result::NamedTable uneven_waits(const Job& job, const JobTimes& times);
result::NamedTable message_waits(const Job& job, const JobTimes& times);
/// Table of the analysis of bandwidths. Requires the times of this job.
result::NamedTable message_transfers(const Job& job, const JobTimes& times);

}  // namespace chakra::analyze
