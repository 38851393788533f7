// Files of a generated job: the common part of the generators of `chakra gen`, as a call.
#pragma once

#include <string>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/options/options.h"
#include "chakra/trace/trace.h"

namespace chakra::generate {

struct GenerateOptions {
  std::string output;       ///< the folder of the job; empty: do not write files
  std::string name;         ///< kind of job, such as "step"; files of ranks are <name>.<rank>.et
  bool all_ranks = false;   ///< a file for each rank, instead of classes
  bool used = false;        ///< the caller uses the job without files: options that change the job have an effect
  std::string report = {};  ///< a file that the caller writes; must not be a file of the job. "" and "-": no file
};

struct GeneratedJob {
  std::string folder;  ///< empty: no files were written
  std::string name;
  size_t ranks = 0, classes = 0;
  size_t least_nodes = 0, most_nodes = 0;  ///< of a rank
  std::string shape = {};                  ///< sizes of the parallel dimensions, for people
};

/// Write a job that has at least one class. Files that exist in the folder must neither become part of the job nor hide
/// the job. Errors: cli.usage if the folder holds another job, or if the report would be a file of the job; as for
/// io::write_class_job and io::write_et. Cost: O(nodes written).
Result<GeneratedJob> generate_job(const trace::ClassJob& job, const GenerateOptions& options);
/// The named test cases of gen::cases().
struct CaseOptions {
  std::string output;  ///< folder: <case>.<rank>.et
  int64_t ranks = 1;
  int64_t runtime_us = 5;  ///< of a computation
  gen::CaseOptions cases;  ///< the runtime comes from runtime_us
};
options::Options rows_of(CaseOptions& options);
/// Write the cases. Errors: cli.usage, base.file.*; as for io::write_et.
Result<void> write_cases(const CaseOptions& options);
/// Return the answer about the files written.
answer::Answer answer_of(const CaseOptions& options);

}  // namespace chakra::generate
