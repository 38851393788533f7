// Ranks of a run for real: recorded ranks, and the mapping if the run has more or fewer ranks. Inside run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/run/replay.h"
#include "chakra/trace/trace.h"

namespace chakra::run {

struct ReplayRanks {
  int64_t recorded = 0, run = 0;  ///< number of ranks
  std::optional<int64_t> own;     ///< this process is one rank; nullopt: all ranks
  std::string option;             ///< the option that requested another number (possibly equal); "": no option
  bool more = false;              ///< the option is --expand
  std::optional<int64_t> alone;   ///< the rank of the only trace, if not rank 0; all other traces are empty

  /// Return the recorded rank with the work of `rank`.
  int64_t plays(int64_t rank) const { return rank % recorded; }
  int64_t first() const { return own.value_or(0); }
  int64_t end() const { return own ? *own + 1 : run; }
};
/// Determine the ranks. Errors: cli.usage for numbers that do not fit, replay.job.ranks; as for io::find_ranks.
Result<ReplayRanks> replay_ranks(const ReplayOptions& options, const std::optional<replay::World>& world);

/// Read all recorded ranks; ranks that this process does not need are empty. Errors: as for reading.
Result<trace::TraceSet> read_recorded(const ReplayOptions& options, const ReplayRanks& ranks);

/// Resize the job to the executed ranks, with groups; ranks of other processes are empty. A rank has the same nodes as
/// the recorded rank, in the same order. `changed`: for each rank of this process, in order, and node: the node
/// communicates with other ranks than recorded, or no longer communicates. Empty if the job is unchanged.
/// Findings: as for edit::shrink and edit::replicate, sim.option.no_effect. Errors: as for both.
Result<void> resize(const ReplayRanks& ranks, trace::TraceSet& job, match::GroupTable& groups,
                    std::vector<std::vector<bool>>& changed, Findings& findings);

}  // namespace chakra::run
