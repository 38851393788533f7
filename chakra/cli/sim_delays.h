// 'chakra sim --delay': the same run without the delays and with them, and by how much the job, its ranks and their
// steps change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {

/// --delay, any number of times.
Option delay_option(std::vector<std::string>& delays);

class DelayStudy {
 public:
  /// Runs the job of `input` without delays, then puts the delays into `input` for the caller's run. A job by classes
  /// is written out. Findings: sim.option.no_effect for a rule that names no node. Errors: sim.delay, those of
  /// sim::simulate. Cost: as one run more, every rank for itself.
  static Result<DelayStudy> begin(const std::vector<std::string>& delays, const std::string& path, sim::SimInput& input,
                                  Findings& findings);
  /// The caller's run.
  void add(const sim::SimReport& report);

  /// `rules[]`, `before_ps`, `after_ps`, `change_ps`, `ranks[]`.
  Json to_json() const;
  /// A line with the change of the total, a table of the rules and one of what changes; of each step the rank where it
  /// changes most.
  std::string to_text() const;

 private:
  struct Change {
    Picoseconds before_ps = 0, after_ps = 0;
    Picoseconds change() const { return after_ps - before_ps; }
    Json to_json(Json json) const;
  };
  struct Rank {
    int64_t rank = 0;
    Change finish;
    std::vector<Change> steps;  ///< parallel to those of steps_
  };
  void take(const sim::SimReport& report, Picoseconds Change::*when);
  table::Table rule_table() const;
  table::Table change_table() const;

  std::vector<sim::DelayRule> rules_;
  std::vector<int64_t> nodes_;  ///< per rule
  Change job_;
  std::vector<Rank> ranks_;
  std::vector<sim::Steps> steps_;  ///< parallel to ranks_; empty where nothing was measured
};

}  // namespace chakra::cli
