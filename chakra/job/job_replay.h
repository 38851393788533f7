// A recorded job against its own measurement: as a whole, by rank and by step. A run with recorded transfers tests the
// graph (what waits for what, on a rank and across ranks); one with simulated transfers tests the network as well.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

enum class TransferKind : uint8_t { recorded, simulated };
inline constexpr std::array<std::string_view, 2> kTransferKinds{"recorded", "simulated"};

/// What was measured, and how long the same took in a run of each kind.
struct Compared {
  Picoseconds measured_ps = 0;
  std::array<Picoseconds, kTransferKinds.size()> run_ps{-1, -1};  ///< below 0: there was no such run
  bool has(TransferKind kind) const { return run_ps[static_cast<size_t>(kind)] >= 0; }
  Picoseconds run(TransferKind kind) const { return run_ps[static_cast<size_t>(kind)]; }
  /// run / measured - 1; 0 where nothing was measured.
  double error(TransferKind kind) const;
};

class JobReplay {
 public:
  struct Step {
    std::string name;
    Compared times;  ///< its span on this rank
  };
  struct Rank {
    int64_t rank = 0;
    Compared times;  ///< from its first start to its last end
    std::vector<Step> steps;
  };

  /// Whether there is something to compare: all ranks have measured times and a recorded start.
  static bool possible(const trace::TraceSet& job);
  /// What was measured. Requires possible(). Errors: sim.start. Cost: O((nodes + edges) log).
  static Result<JobReplay> measure(const trace::TraceSet& job);
  /// The same from a finished run of the same traces, with its node times; ranks that are missing in it stay unknown.
  void add(TransferKind kind, const sim::SimReport& report);

  const Compared& job() const { return job_; }  ///< from the first start to the last end, by the clock of the job
  const std::vector<Rank>& ranks() const { return ranks_; }
  /// The step, or the rank, whose run of that kind differs most from the measurement; null where none was compared.
  const Step* worst_step(TransferKind kind) const;
  const Rank* worst_rank(TransferKind kind) const;
  /// sim.job.error: with recorded transfers the job takes more than 1 % more or less than measured.
  Findings findings() const;

 private:
  Compared job_;
  std::vector<Rank> ranks_;
  std::vector<analyze::Steps> steps_;  ///< parallel to ranks_
};

/// Runs the job of `input` with recorded transfers on ranks that are as they were recorded (neither roofline nor
/// speeds), each beginning when it did, and adds the run. Transfers that were not recorded take no time.
/// Findings: sim.transfer.unknown. Errors: those of sim::simulate(). Cost: as sim::simulate(), every rank for itself.
Result<void> replay_recorded(sim::SimInput input, JobReplay& replay, Findings& findings);

}  // namespace chakra::job
