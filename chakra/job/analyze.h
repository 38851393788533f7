// `chakra analyze` as a call: bottlenecks, overlap, traffic and stragglers of a job.
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
  bool details = false;   ///< also the tables that are too long for the text
  std::string svg = {};   ///< a file that the caller writes: fill AnalyzedJob::imbalances
  LoadedPtr loaded = {};  ///< read instead of `path`
};
options::Options rows_of(AnalyzeOptions& options);

struct AnalyzedJob {
  std::string path;  ///< the job, as given
  size_t ranks = 0;
  std::vector<result::NamedTable> tables;
  std::vector<analyze::Imbalance> imbalances;
  Findings findings;
};

/// Analyze a job. Errors: cli.usage for options out of range, such as an unknown analysis; errors of reading and of the
/// analyses.
Result<AnalyzedJob> analyze_job(const AnalyzeOptions& options);

/// Return the text: the first rows of each table, without the tables of `details`, and the findings.
view::Text text_of(const AnalyzedJob& job);
/// Return the answer: each table under its name. Cost: O(cells).
answer::Answer answer_of(const AnalyzedJob& job);
/// Return the most unbalanced group and type, for view::to_heat_map(): a row for each collective, a column for each
/// rank. If no group is unbalanced, the table has no rows, and the title reports that.
view::HeatMap picture_of(const std::vector<analyze::Imbalance>& imbalances);

}  // namespace chakra::job
