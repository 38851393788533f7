// Input and output files of a call: no output may replace an input or another output.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::job {

/// Return the files of a job, or the folder of a job by classes, for keep_apart(). Errors: as for io::find_ranks.
Result<std::vector<std::string>> job_files(const std::string& path);

/// Reject an output that would replace an input or another output; "-" is for `json` only. Empty paths are ignored. A
/// folder among the inputs stands for all files in the folder. Cost: two system calls per file. Errors: cli.usage.
Result<void> keep_apart(const std::vector<std::string>& inputs, std::vector<std::string> outputs,
                        const std::string& json = {});

/// Reject a folder with traces of other ranks than `outputs`, or with a job by classes: with the outputs, they would be
/// taken for one job. `inputs` may be there. Cost: that of io::find_ranks. Errors: cli.usage.
Result<void> keep_other_ranks_out(const std::string& folder, const std::vector<std::string>& outputs,
                                  const std::vector<std::string>& inputs = {});

}  // namespace chakra::job
