// `chakra report` as a call: one HTML page about a job, or about two.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/job.h"
#include "chakra/job/parts.h"
#include "chakra/options/options.h"
#include "chakra/report/page.h"
#include "chakra/report/parts.h"
#include "chakra/view/view.h"

namespace chakra::report {

struct ReportOptions {
  std::string path;    ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string output;  ///< the file, which the caller writes
  std::string groups;  ///< a file
  analyze::LaunchScope scope = {};
  std::string against;            ///< another job; empty: none
  job::SimulateOptions simulate;  ///< with a network: simulate; `path` and `groups` are those above
  std::string against_network;    ///< simulate also on this network, the other job if there is one
  bool timeline = false;          ///< the page has all operations
  std::string xlsx;               ///< a file that the caller writes: fill ReportedJob::workbook
  job::LoadedPtr loaded = {};     ///< read instead of `path`
};
options::Options rows_of(ReportOptions& options);

/// A job of the page: the job itself, or the other one.
struct ReportedSide {
  std::string name;
  int64_t ranks = 0;
  std::vector<std::pair<answer::Answer, std::string>> answers;  ///< each with the command that prints the answer
  std::optional<Predicted> predicted;
  std::optional<result::Timeline> timeline;
  SliceLinks links = {};  ///< of the timeline
};

struct ReportedJob {
  std::string path;    ///< the job, as given
  std::string output;  ///< the file
  int64_t ranks = 0;
  std::vector<ReportedSide> sides;      ///< one or two
  std::vector<PathChange> differences;  ///< of two simulations
  Findings comparison;                  ///< about both simulations together
  std::optional<job::JobsDiff> diff;    ///< of two jobs, unless one is by classes
  Page page;
  Workbook workbook;  ///< with `xlsx`
  Findings findings;
};

/// Read a job once, and make the page. With a network: simulate the job. Else: analyze and check the job. With another
/// job or another network: do the same with these, and compare. Errors: as for simulate_job(), analyze_job(),
/// check_job() and diff_jobs(). Cost: that of these calls, and memory for the job and the page.
Result<ReportedJob> report_job(const ReportOptions& options, const std::atomic<bool>* stop = nullptr);
answer::Answer answer_of(const ReportedJob& job);
view::Text text_of(const ReportedJob& job);

}  // namespace chakra::report
