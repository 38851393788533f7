// `chakra diff` as a call: compare two jobs.
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
  std::string a, b;                        ///< jobs in any format
  std::optional<double> threshold = {};    ///< percent
  double least_share = 1;                  ///< percent of all time; smaller times are ignored for the threshold
  std::optional<double> fail_over = {};    ///< percent; compares steps and diagnoses
  bool markdown = false;                   ///< text as Markdown; compares steps and diagnoses
  bool steps = false;                      ///< compares steps and diagnoses, without an option
  bool timing = false;                     ///< run compare_times() instead
  LoadedPtr loaded_a = {}, loaded_b = {};  ///< read instead of `a` and `b`
};
options::Options rows_of(DiffOptions& options);

struct JobsDiff {
  std::string a, b;
  size_t ranks_a = 0, ranks_b = 0;
  analyze::Diff diff;
  std::optional<double> threshold;
  std::vector<std::string> exceeding;             ///< differences above the threshold, as text
  std::optional<analyze::StepChange> steps = {};  ///< with fail_over or markdown
  std::vector<std::string> markdown = {};         ///< lines of the text, with markdown
  Findings findings;
};

/// Compare two jobs. Errors: as for reading and analyze::diff. Cost: both jobs are held in memory.
Result<JobsDiff> diff_jobs(const DiffOptions& options);
/// Return the answer. Cost: O(rows + findings).
answer::Answer answer_of(const JobsDiff& diff);
/// Return the text: a summary, the rows with the largest differences, and the differences above the threshold.
view::Text text_of(const JobsDiff& diff);

}  // namespace chakra::job
