// `--ranks`: of a job, some ranks only.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/cli/options.h"
#include "chakra/trace/trace.h"

namespace chakra::cli {

/// --ranks FIRST:COUNT.
Option ranks_option(std::string& text);

/// Reads the ranks that `text` names, all where it is empty: "R", "FIRST:COUNT", or several of them with commas
/// between. Other ranks' files are not opened. `first_of`: of those the ones below this number, with a finding that
/// says which others are left out; negative: all. Errors: cli.usage for a text of another form or a rank that the job
/// lacks, those of io::find_ranks, io::read_job.
Result<trace::TraceSet> read_ranks(const std::string& path, const std::string& text, int64_t first_of,
                                   Findings& findings);

}  // namespace chakra::cli
