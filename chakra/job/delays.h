// What delays of some nodes change: the same run without them and with them. RunChange is what any two runs of the same
// ranks differ in.
#pragma once

#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// By how much the job, its ranks and their steps change.
struct RunChange {
  struct Change {
    Picoseconds before_ps = 0, after_ps = 0;
    Picoseconds change() const { return after_ps - before_ps; }
  };
  struct Rank {
    int64_t rank = 0;
    Change finish;
    std::vector<Change> steps;  ///< parallel to those of RunChange::steps
  };
  Change job;
  std::vector<Rank> ranks;
  std::vector<analyze::Steps> steps;  ///< parallel to ranks; empty where nothing was measured

  /// The ranks of a job, and their steps where the job was measured. Cost: that of analyze::find_steps.
  static RunChange of(const trace::TraceSet& job);
  bool has_steps() const { return !steps.empty(); }
  /// A run of these ranks; of steps only where it has node times.
  void take(const sim::SimReport& report, Picoseconds Change::*when);
};

/// What delays change.
struct DelayStudy : RunChange {
  std::vector<sim::DelayRule> rules;
  std::vector<int64_t> nodes;     ///< that each rule delays
  std::string congestion_reason;  ///< of the run without delays, whose contention model the other run takes, too

  /// Runs the job of `input` without delays, then puts the delays into `input` for the caller's run. A job by classes
  /// is written out. Findings: sim.option.no_effect for a rule that names no node. Errors: sim.delay, those of
  /// sim::simulate. Cost: as one run more, every rank for itself.
  static Result<DelayStudy> begin(const std::vector<std::string>& delays, const std::string& path, sim::SimInput& input,
                                  Findings& findings);
  /// The caller's run.
  void add(const sim::SimReport& report);
};

}  // namespace chakra::job
