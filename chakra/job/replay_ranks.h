// Which ranks a replay has, what they were recorded to do, and what they do where they are more or fewer. Inside job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/job/replay.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

struct ReplayRanks {
  int64_t recorded = 0, run = 0;  ///< how many
  std::optional<int64_t> own;     ///< this process is one; none: all
  std::string option;             ///< that asked for another number, which may be the same; "": none did
  bool more = false;              ///< it is --expand
  std::optional<int64_t> alone;   ///< there is one trace, of this rank, which is not rank 0; the others are empty

  /// Which recorded rank does it.
  int64_t plays(int64_t rank) const { return rank % recorded; }
  int64_t first() const { return own.value_or(0); }
  int64_t end() const { return own ? *own + 1 : run; }
};
/// Errors: cli.usage for numbers that do not fit, replay.job.ranks, those of io::find_ranks.
Result<ReplayRanks> replay_ranks(const ReplayOptions& options, const std::optional<replay::World>& world);

/// All recorded ranks; those that this process does not need are empty. Errors: those of reading.
Result<trace::TraceSet> read_recorded(const ReplayOptions& options, const ReplayRanks& ranks);

/// The job of the ranks that run, with their groups; those of other processes are empty. The nodes of a rank are those
/// of the recorded one, in the same order. `changed`: per rank that this process runs, in order, and node: it
/// communicates with other ranks than recorded, or no more; empty where the job is as it was recorded.
/// Findings: those of edit::shrink and edit::replicate, sim.option.no_effect. Errors: theirs.
Result<void> resize(const ReplayRanks& ranks, trace::TraceSet& job, match::GroupTable& groups,
                    std::vector<std::vector<bool>>& changed, Findings& findings);

}  // namespace chakra::job
