// Parts of reports that several calls share, or that are long enough for a separate file.
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

/// Return part / whole, or 0 if the whole is 0.
inline double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Self-check: a job against the measurement.
/// Return rows for the job, the ranks, and for each step the rank with the largest error.
result::Report::Rows rows_of(const JobReplay& replay);
/// Return the absolute error of the run that tests the graph (recorded transfers) if available, else of the other run.
double badness(const Compared& times);
/// Add the self-check, and the effect of delays; keys are missing without data. `with_ns`: in the form of `link`.
void add_measured(const std::string& prefix, const std::optional<JobReplay>& replay, answer::Builder& to,
                  bool with_ns = false);
void add_delays(const std::optional<DelayStudy>& study, answer::Builder& to);

// Differences between two runs.
/// `before_ps`, `after_ps`, `change_ps`, `ranks[]`, `steps[]`; null: the part is absent. `prefix`: "" or "delays.".
void add_change(const std::string& prefix, const RunChange* change, answer::Builder& to);

// Devices.
/// From the tokens that the generator of the job recorded; 0 if not recorded.
struct Throughput {
  double tokens_per_s = 0, tokens_per_s_per_rank = 0, model_ops_per_s = 0;
  std::optional<double> mfu;  ///< of the FLOPs of the model, without activation recomputation
};
Throughput throughput_of(const SimulateResult& result);

// Work derived from shapes.
/// Return lines without labels; empty if no work was derived.
std::vector<std::string> work_lines(const link::WorkReport& work);

}  // namespace chakra::job
