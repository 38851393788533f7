// Rules and proofs over a job: what `chakra check` does, as a call.
#pragma once

#include <span>
#include <string>

#include "chakra/base/base.h"
#include "chakra/check/check.h"
#include "chakra/result/result.h"

namespace chakra::job {

struct CheckOptions {
  std::string path;    ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string groups;  ///< a file; what it names goes before what the traces say
  std::string expand;  ///< "N[:RANK]"
};

struct CheckedJob {
  std::string path;  ///< the job, as it was asked for
  size_t ranks = 0;
  int64_t nodes = 0;
  Findings findings;

  bool ok() const { return !check::any_error(findings); }
};

/// Errors: those of reading; a job that breaks a rule is not an error but has findings. Cost: that of check::check.
Result<CheckedJob> check_job(const CheckOptions& options);

/// What people read: a line of how much was looked at, and the findings.
result::Report report_of(const CheckedJob& job);
/// `ok` (no error in any of the jobs), `jobs[]`, and the findings of all. Cost: O(findings).
result::Json to_json(std::span<const CheckedJob> jobs);

}  // namespace chakra::job
