// `chakra info` as a call: count the contents of traces.
#pragma once

#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct JobSummary {
  std::string path;
  bool by_classes = false;
  size_t ranks = 0;
  size_t groups = 0;                          ///< of a job by classes
  std::vector<analyze::TraceSummary> traces;  ///< by rank, or by class
};

/// Summarize the ranks of a job one by one. Errors: as for reading. Cost: O(nodes + edges), memory for one rank.
Result<JobSummary> summarize_job(const std::string& path);
/// Return the answer. Cost: O(size of the summary).
answer::Answer answer_of(const JobSummary& job);
view::Text text_of(const JobSummary& job);

}  // namespace chakra::job
