// Parts of reports: what several calls say, and what is long enough to stand in a file of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/job/delays.h"
#include "chakra/job/job_replay.h"
#include "chakra/job/simulate.h"
#include "chakra/link/link.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// 0 where there is no whole.
inline double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// A job against its own measurement.
/// The job, its ranks, and of each step the rank where it is off most.
result::Report::Rows rows_of(const JobReplay& replay);
/// By how much the two kinds of runs are off; of those that there are the first that tests the graph.
double badness(const Compared& times);
/// What was measured, and what delays change: all of it missing where there is none. `with_ns`: as `link` says it.
void add_measured(const std::string& prefix, const std::optional<JobReplay>& replay, answer::Builder& to,
                  bool with_ns = false);
void add_delays(const std::optional<DelayStudy>& study, answer::Builder& to);

// What two runs differ in.
/// `before_ps`, `after_ps`, `change_ps`, `ranks[]`, `steps[]`; null: the part is absent. `prefix`: "" or "delays.".
void add_change(const std::string& prefix, const RunChange* change, answer::Builder& to);

// Devices.
/// By the tokens that the generator of the job says; 0 where it does not.
struct Throughput {
  double tokens_per_s = 0, tokens_per_s_per_rank = 0, model_ops_per_s = 0;
  std::optional<double> mfu;  ///< of the model's operations: what is computed again does not count
};
Throughput throughput_of(const SimulateResult& result);

// Work that comes from shapes.
/// Lines, each without its label, none where there is nothing to say.
std::vector<std::string> work_lines(const link::WorkReport& work);

}  // namespace chakra::job
