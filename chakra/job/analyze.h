// What bounds a job, what overlaps, what is moved: what `chakra analyze` does, as a call.
#pragma once

#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"

namespace chakra::job {

struct AnalyzeOptions {
  std::string path;               ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string groups;             ///< a file
  std::vector<std::string> only;  ///< names of analyze::kAnalyses; empty: all
  analyze::LaunchScope scope = {};
  bool details = false;     ///< also the tables that are too long for people
  bool imbalances = false;  ///< also AnalyzedJob::imbalances
};

struct AnalyzedJob {
  size_t ranks = 0;
  std::vector<analyze::NamedTable> tables;
  std::vector<analyze::Imbalance> imbalances;
  Findings findings;
};

/// Errors: cli.usage for an analysis that does not exist, those of reading and of the analyses.
Result<AnalyzedJob> analyze_job(const AnalyzeOptions& options);

}  // namespace chakra::job
