// Rules and proofs over a job: what `chakra check` does, as a call.
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
  std::string groups;     ///< a file; what it names goes before what the traces say
  std::string expand;     ///< "N[:RANK]"
  LoadedPtr loaded = {};  ///< instead of what `path` names
};
options::Options rows_of(CheckOptions& options);

struct CheckedJob {
  std::string path;  ///< the job, as it was asked for
  size_t ranks = 0;
  int64_t nodes = 0;  ///< of dumps: records
  Findings findings;
  bool dumps = false;   ///< the job is dumps of a flight recorder
  result::Table where;  ///< of dumps: where each rank is

  bool ok() const { return !check::any_error(findings); }
};

/// Errors: those of reading; a job that breaks a rule is not an error but has findings. Cost: that of check::check.
Result<CheckedJob> check_job(const CheckOptions& options);

/// The same of dumps of PyTorch's flight recorder: which rank hangs in which collective. A folder of them, or files.
/// Errors: those of flight::read_dumps.
Result<CheckedJob> check_dumps(const std::vector<std::string>& paths);
/// Whether a path is a dump, or a folder of dumps.
bool is_dump_path(const std::string& path);

/// `ok` (no error in any of the jobs), `jobs[]`, and the findings of all. Cost: O(findings).
answer::Answer answer_of(std::span<const CheckedJob> jobs);
inline answer::Answer answer_of(const CheckedJob& job) { return answer_of(std::span(&job, 1)); }
/// What people read: of each job a line of how much was looked at, and the findings.
view::Text text_of(std::span<const CheckedJob> jobs);
inline view::Text text_of(const CheckedJob& job) { return text_of(std::span(&job, 1)); }

}  // namespace chakra::job
