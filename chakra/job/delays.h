// Effect of delays of some nodes: the same run without and with the delays. RunChange is the difference between any two
// runs of the same ranks.
#pragma once

#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// Change of the job, the ranks and the steps.
struct RunChange {
  struct Change {
    Picoseconds before_ps = 0, after_ps = 0;
    Picoseconds change() const { return after_ps - before_ps; }
  };
  struct Rank {
    int64_t rank = 0;
    Change finish;
    std::vector<Change> steps;  ///< parallel to RunChange::steps of the rank
  };
  Change job;
  std::vector<Rank> ranks;
  std::vector<analyze::Steps> steps;  ///< parallel to ranks; empty if nothing was measured

  /// Return the ranks of a job, and the steps of each rank if the job was measured. Cost: that of analyze::find_steps.
  static RunChange of(const trace::TraceSet& job);
  bool has_steps() const { return !steps.empty(); }
  /// Record a run of the same ranks. Steps are recorded only if the report has node times.
  void take(const sim::SimReport& report, Picoseconds Change::*when);
};

/// Effect of delays.
struct DelayStudy : RunChange {
  std::vector<sim::DelayRule> rules;
  std::vector<int64_t> nodes;     ///< number of nodes that each rule delays
  std::string congestion_reason;  ///< of the run without delays; the run with delays uses the same contention model

  /// Run the job of `input` without delays, then add the delays to `input` for the run by the caller. A job by classes
  /// is expanded. Findings: sim.option.no_effect for a rule without a matching node. Errors: sim.delay; as for
  /// sim::simulate. Cost: one additional run, with every rank simulated separately.
  static Result<DelayStudy> begin(const std::vector<std::string>& delays, const std::string& path, sim::SimInput& input,
                                  Findings& findings);
  /// Record the run by the caller.
  void add(const sim::SimReport& report);
};

}  // namespace chakra::job
