// Which files a call reads and writes, so that no result takes the place of an input or of another result.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::job {

/// The files of a job, or the folder of one by classes, for keep_apart(). Errors: those of io::find_ranks.
Result<std::vector<std::string>> job_files(const std::string& path);

/// No output may replace an input, no two outputs one another; "-" is for `json` only. Empty paths do not
/// count. A folder among the inputs stands for all in it. Cost: two calls of the system per file. Errors: cli.usage.
Result<void> keep_apart(const std::vector<std::string>& inputs, std::vector<std::string> outputs,
                        const std::string& json = {});

}  // namespace chakra::job
