// What two jobs differ in: what `chakra diff` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct DiffOptions {
  std::string a, b;                        ///< jobs of any form
  std::optional<double> threshold = {};    ///< percent
  double least_share = 1;                  ///< percent of all time; smaller times do not count for the threshold
  bool timing = false;                     ///< compare_times() is wanted instead
  LoadedPtr loaded_a = {}, loaded_b = {};  ///< instead of what `a` and `b` name
};
options::Options rows_of(DiffOptions& options);

struct JobsDiff {
  std::string a, b;
  size_t ranks_a = 0, ranks_b = 0;
  analyze::Diff diff;
  std::optional<double> threshold;
  std::vector<std::string> exceeding;  ///< what differs by more than the threshold, in words
  Findings findings;
};

/// Errors: those of reading and analyze::diff. Cost: both jobs are in memory.
Result<JobsDiff> diff_jobs(const DiffOptions& options);
/// Cost: O(rows + findings).
answer::Answer answer_of(const JobsDiff& diff);
/// What people read: a summary, the rows that differ most, and what exceeds the threshold.
view::Text text_of(const JobsDiff& diff);

}  // namespace chakra::job
