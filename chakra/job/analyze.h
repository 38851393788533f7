// What bounds a job, what overlaps, what is moved: what `chakra analyze` does, as a call.
#pragma once

#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/options/options.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct AnalyzeOptions {
  std::string path;               ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string groups;             ///< a file
  std::vector<std::string> only;  ///< names of analyze::kAnalyses; empty: all
  analyze::LaunchScope scope = {};
  bool details = false;     ///< also the tables that are too long for people
  bool imbalances = false;  ///< also AnalyzedJob::imbalances
  LoadedPtr loaded = {};    ///< instead of what `path` names
};
options::Options rows_of(AnalyzeOptions& options);

struct AnalyzedJob {
  std::string path;  ///< the job, as it was asked for
  size_t ranks = 0;
  std::vector<result::NamedTable> tables;
  std::vector<analyze::Imbalance> imbalances;
  Findings findings;
};

/// Errors: cli.usage for options out of range, such as an analysis that does not exist; those of reading and of the
/// analyses.
Result<AnalyzedJob> analyze_job(const AnalyzeOptions& options);

/// The first rows of each table that is not a detail, and the findings.
view::Text text_of(const AnalyzedJob& job);
/// What programs read: each table under its name. Cost: O(cells).
answer::Answer answer_of(const AnalyzedJob& job);
/// The most unbalanced group and type, for view::to_heat_map(): a row for each collective, a column for each rank.
/// Where nothing is unbalanced it has no rows, and its title says so.
view::HeatMap picture_of(const std::vector<analyze::Imbalance>& imbalances);

}  // namespace chakra::job
