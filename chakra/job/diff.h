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
#include "chakra/result/result.h"

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

  /// A row for each operator, kernel and type of communication; else only those that differ, without means and bytes.
  result::Table rows(bool all) const;
};

/// Errors: those of reading and analyze::diff. Cost: both jobs are in memory.
Result<JobsDiff> diff_jobs(const DiffOptions& options);
/// A summary, the rows that differ most, and what exceeds the threshold.
std::string to_text(const JobsDiff& diff);
/// Cost: O(rows + findings).
answer::Answer answer_of(const JobsDiff& diff);

}  // namespace chakra::job
