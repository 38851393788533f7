// `chakra check` as a call: rules and proofs over a job.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/check/check.h"
#include "chakra/job/loaded.h"
#include "chakra/options/options.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct CheckOptions {
  std::string path;       ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string groups;     ///< a file; takes precedence over the groups of the traces
  std::string expand;     ///< "N[:RANK]"
  LoadedPtr loaded = {};  ///< read instead of `path`
};
options::Options rows_of(CheckOptions& options);

struct CheckedJob {
  std::string path;  ///< the job, as given
  size_t ranks = 0;
  int64_t nodes = 0;  ///< for dumps: records
  Findings findings;
  bool dumps = false;   ///< the job consists of dumps of a flight recorder
  result::Table where;  ///< for dumps: the position of each rank

  bool ok() const { return !check::any_error(findings); }
};

/// Check a job. Errors: as for reading; broken rules are findings, not errors. Cost: that of check::check.
Result<CheckedJob> check_job(const CheckOptions& options);

/// Check dumps of PyTorch's flight recorder: report the collective in which each rank hangs. `paths`: a folder, or
/// files. Errors: as for flight::read_dumps.
Result<CheckedJob> check_dumps(const std::vector<std::string>& paths);
/// Return true for a dump, or a folder of dumps.
bool is_dump_path(const std::string& path);

/// Return `ok` (no error in any of the jobs), `jobs[]`, and the findings of all jobs. Cost: O(findings).
answer::Answer answer_of(std::span<const CheckedJob> jobs);
inline answer::Answer answer_of(const CheckedJob& job) { return answer_of(std::span(&job, 1)); }
/// Return the text: for each job a line with the number of ranks and nodes checked, and the findings.
view::Text text_of(std::span<const CheckedJob> jobs);
inline view::Text text_of(const CheckedJob& job) { return text_of(std::span(&job, 1)); }

}  // namespace chakra::job
