// A generated job as files: what the generators of `chakra gen` do behind their options, as a call.
#pragma once

#include <string>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/options/options.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

struct GenerateOptions {
  std::string output;       ///< the folder of the job; empty: nothing is written
  std::string name;         ///< what the job is, such as "step"; its ranks are <name>.<rank>.et
  bool all_ranks = false;   ///< a file for each rank, instead of classes
  std::string report = {};  ///< a file that the caller writes: not one of the job. "" and "-": none
};

struct GeneratedJob {
  std::string folder;  ///< empty: nothing was written
  std::string name;
  size_t ranks = 0, classes = 0;
  size_t least_nodes = 0, most_nodes = 0;  ///< of a rank
  std::string shape = {};                  ///< sizes of the parallel dimensions, for people
};

/// Writes a job that has a class. What the folder holds already must neither become part of the job nor hide it.
/// Errors: cli.usage (the folder holds another job, or the report would be a file of the job), those of
/// io::write_class_job and io::write_et. Cost: O(nodes written).
Result<GeneratedJob> generate_job(const trace::ClassJob& job, const GenerateOptions& options);
/// The named test cases of gen::cases().
struct CaseOptions {
  std::string output;  ///< folder: <case>.<rank>.et
  int64_t ranks = 1;
  int64_t runtime_us = 5;  ///< of a computation
  gen::CaseOptions cases;  ///< its runtime is runtime_us
};
options::Options rows_of(CaseOptions& options);
/// Errors: cli.usage, base.file.*, those of io::write_et.
Result<void> write_cases(const CaseOptions& options);
/// What it wrote.
answer::Answer answer_of(const CaseOptions& options);

}  // namespace chakra::job
