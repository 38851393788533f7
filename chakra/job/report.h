// `chakra report` as a call: one HTML page about a job.
#pragma once

#include <cstdint>
#include <string>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/loaded.h"
#include "chakra/options/options.h"
#include "chakra/report/report.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct ReportOptions {
  std::string path;    ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string output;  ///< the file, which the caller writes
  std::string groups;  ///< a file
  analyze::LaunchScope scope = {};
  LoadedPtr loaded = {};  ///< read instead of `path`
};
options::Options rows_of(ReportOptions& options);

struct ReportedJob {
  std::string path;    ///< the job, as given
  std::string output;  ///< the file
  int64_t ranks = 0;
  report::Page page;
  Findings findings;
};

/// Read a job once, analyze and check it, and make the page from both answers. Errors: as for analyze_job() and
/// check_job(). Cost: that of both, and memory for the job and the page.
Result<ReportedJob> report_job(const ReportOptions& options);
answer::Answer answer_of(const ReportedJob& job);
view::Text text_of(const ReportedJob& job);

}  // namespace chakra::job
