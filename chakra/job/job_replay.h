// Self-check of a recorded job: simulated against measured times, for the job, ranks and steps. Recorded transfers test
// the graph (dependencies on a rank and across ranks); simulated transfers test the network as well.
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

/// A measured time, and the time of the same part in a run of each kind.
struct Compared {
  Picoseconds measured_ps = 0;
  std::array<Picoseconds, kTransferKinds.size()> run_ps{-1, -1};  ///< below 0: no such run
  bool has(TransferKind kind) const { return run_ps[static_cast<size_t>(kind)] >= 0; }
  Picoseconds run(TransferKind kind) const { return run_ps[static_cast<size_t>(kind)]; }
  /// Return run / measured - 1, or 0 if nothing was measured.
  double error(TransferKind kind) const;
};

class JobReplay {
 public:
  struct Step {
    std::string name;
    Compared times;  ///< the span on this rank
  };
  struct Rank {
    int64_t rank = 0;
    Compared times;  ///< from the first start to the last end
    std::vector<Step> steps;
  };

  /// Return true if a comparison is possible: all ranks have measured times and a recorded start.
  static bool possible(const trace::TraceSet& job);
  /// Collect the measured times. Requires possible(). Errors: sim.start. Cost: O((nodes + edges) log).
  static Result<JobReplay> measure(const trace::TraceSet& job);
  /// Add the times of a finished run of the same traces, with node times; ranks missing in the run stay unknown.
  void add(TransferKind kind, const sim::SimReport& report);

  const Compared& job() const { return job_; }  ///< from the first start to the last end, by the clock of the job
  const std::vector<Rank>& ranks() const { return ranks_; }
  /// Return the step, or the rank, with the largest error in the run of that kind; null without a comparison.
  const Step* worst_step(TransferKind kind) const;
  const Rank* worst_rank(TransferKind kind) const;
  /// sim.job.error: with recorded transfers, the time of the job differs by more than 1 % from the measured time.
  Findings findings() const;

 private:
  Compared job_;
  std::vector<Rank> ranks_;
  std::vector<analyze::Steps> steps_;  ///< parallel to ranks_
};

/// Run the job of `input` with recorded transfers and starts on unchanged ranks (no roofline, no speeds), and add the
/// run. Transfers that were not recorded take no time.
/// Findings: sim.transfer.unknown. Errors: as for sim::simulate(). Cost: that of sim::simulate() without folding.
Result<void> replay_recorded(sim::SimInput input, JobReplay& replay, Findings& findings);

}  // namespace chakra::job
