// Parts of a sweep that several sources share. Inside sweep.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/append_file.h"
#include "chakra/base/base.h"
#include "chakra/generate/generate.h"
#include "chakra/job/job.h"
#include "chakra/sweep/sweep.h"

namespace chakra::sweep {

// ---- calls of a point (calls.cpp) -------------------------------------------------------------------------------

/// The options of the calls of a point. The first call makes or reads the job, the second one runs the job.
struct PointCalls {
  std::variant<std::monostate, generate::GenerateStepOptions, generate::GenerateServeOptions> generate;
  std::string job;  ///< path of a job to read, if nothing is generated
  std::variant<std::monostate, job::SimulateOptions, job::WhatIfOptions> run;
};
/// Read the file of a sweep. Errors: those of sweep::read_plan; sweep.file for sections that do not go together.
Result<Plan> read_sweep(const std::string& file);
/// Return the options of a point.
Result<PointCalls> calls_of(const Plan& plan, uint64_t point);

/// Digests that are equal for equal work.
struct PointKey {
  std::string source;  ///< of the first call
  std::string key;     ///< of both calls, the input files and the version of this library
};
/// Makes keys; thread safe. Files of a setting are read once.
class PointKeys {
 public:
  explicit PointKeys(const Plan& plan) : plan_(plan) {}
  Result<PointKey> key_of(uint64_t point);

 private:
  const Plan& plan_;
  std::mutex mutex_;
  std::map<std::pair<size_t, std::string>, std::string> digests_;  ///< of files, by parameter and text
  std::map<std::string, std::string> sources_;  ///< digests of settled options, by those of options as given

  std::string digests_of_setting(size_t parameter, const std::string& text);
  std::string source_of(const PointCalls& calls);
  std::string digests_of(uint64_t point);
};
/// Return the files that a setting names: inputs of the calls.
std::vector<std::string> files_of_setting(const Parameter& parameter, const std::string& text);

// ---- values of a point (metrics.cpp) ----------------------------------------------------------------------------

/// Take values that are still missing from an answer.
void take_metrics(const answer::Answer& answer, MetricValues& values);
/// Return the subject of a finding: the tag and, of a finding about an option, the option.
inline std::string subject_of(const Finding& finding) {
  return finding.tag + " " + (finding.text.starts_with('-') ? finding.text.substr(0, finding.text.find(' ')) : "");
}
/// Requires the name of a row.
answer::Cell& metric_of(MetricValues& values, std::string_view name);
const answer::Cell& metric_of(const MetricValues& values, std::string_view name);

// ---- finished points (journal.cpp) ------------------------------------------------------------------------------

/// <output>/points.jsonl, or the journal of a shard: a line of JSON for each finished point. All journals of the folder
/// are read.
class Journal {
 public:
  /// Errors: base.file.*. `damaged`: lines that are not outcomes, which are ignored.
  static Result<Journal> open(const std::string& folder, const fleet::Shard& shard, size_t& damaged);
  /// Return the outcome of an earlier call, once; nullopt: there is none.
  std::optional<Outcome> take(const std::string& key);
  Result<void> add(const std::string& key, const Outcome& outcome) { return file_.add(line_of(key, outcome)); }
  Result<void> sync() { return file_.sync(); }

  static std::string line_of(const std::string& key, const Outcome& outcome);
  /// Parse a line; nullopt: it is not one.
  static std::optional<std::pair<std::string, Outcome>> parse(std::string_view line);

 private:
  explicit Journal(AppendFile file) : file_(std::move(file)) {}
  AppendFile file_;
  std::map<std::string, Outcome> finished_;
};

// ---- the run (run.cpp) ------------------------------------------------------------------------------------------

/// A point to run: its calls are those of `point`; equal sources are made once.
struct PointWork {
  uint64_t point = 0;
  size_t outcome = 0;
  std::string source, key;
};
/// Run all points, and put each outcome at its place and into the journal. Errors: base.file.* of the journal,
/// job.interrupted.
Result<void> run_points(const Plan& plan, std::vector<PointWork> work, Journal& journal,
                        std::vector<Outcome>& outcomes);

}  // namespace chakra::sweep
