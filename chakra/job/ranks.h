// Ranks of a job that are read, and ranks that are copies.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

/// Read the ranks in `text` (empty: all ranks): "R", "FIRST:COUNT", or several of these separated by commas. Files of
/// other ranks are not opened. `first_of`: read only ranks below this number, and report the omitted ranks in a
/// finding; negative: no limit. Errors: cli.usage for invalid text or a rank that the job lacks; as for io::find_ranks,
/// io::read_job.
Result<trace::TraceSet> read_ranks(const std::string& path, const LoadedPtr& loaded, const std::string& text,
                                   int64_t first_of, Findings& findings, const io::ReadOptions& how = {});

/// Expand a job to "N" or "N:RANK": N ranks; ranks without a trace are copies of RANK (default: the lowest rank). No
/// effect if `text` is empty. Errors: cli.usage, edit.expand.*
Result<void> expand_job(const std::string& text, trace::TraceSet& job, match::GroupTable& groups, Findings& findings);

}  // namespace chakra::job
