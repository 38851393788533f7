// Parts of answers that several calls have, or that have a file of their own.
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

// A job against its own measurement.
/// What was measured, and what delays change: all of it missing where there is none. `with_ns`: as `link` says it.
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

}  // namespace chakra::job
