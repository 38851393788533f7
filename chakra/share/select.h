// `chakra select` as a call: the few jobs that represent a fleet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/synth/synth.h"
#include "chakra/view/view.h"

namespace chakra::share {

struct SelectOptions {
  std::vector<std::string> paths;  ///< jobs, and folders of jobs
  int64_t count = 12;              ///< of jobs to choose
  synth::Method method = synth::Method::medoids;
  std::string svg;  ///< file of the figure, which the caller writes; "": none
};
options::Options rows_of(SelectOptions& options);

struct SelectedJobs {
  struct Job {
    std::string path;
    int64_t ranks = 0;
    std::vector<double> features;   ///< as synth::features()
    std::array<double, 2> place{};  ///< in the figure
  };
  struct Unread {
    std::string path;
    Error error;
  };
  std::vector<Job> jobs;  ///< ascending by path
  std::vector<Unread> unread;
  std::vector<synth::Scale> scales;  ///< of each feature
  synth::Selection selection;
  Findings findings;
};

/// Read the jobs, in parallel, and choose. A folder that is not a job stands for the jobs in the folder. Paths are
/// sorted and read once, so their order does not matter. A job that cannot be read is left out, with the error:
/// job.select.unread. Findings: job.select.all, .coverage, .unknown, .equal, .twice, .radius, .random. Errors:
/// cli.usage for fewer jobs than `count`; job.select.none if no job can be read; job.interrupted. Cost: that of
/// reading, and of synth::select.
Result<SelectedJobs> select_jobs(const SelectOptions& options);

answer::Answer answer_of(const SelectedJobs& jobs);
view::Text text_of(const SelectedJobs& jobs);
/// Return the figure of the fleet.
view::Scatter picture_of(const SelectedJobs& jobs);

}  // namespace chakra::share
