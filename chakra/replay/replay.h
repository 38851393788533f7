// Run a trace for real, by the wall clock, on the available hardware. Every lane of a rank runs its nodes as in the
// simulator, and a back end carries out the communication between ranks. The measured times of nodes are an
// ordinary Timeline. Ranks are threads of this process, or separate processes that find each other at a rendezvous.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/replay/backend.h"     // IWYU pragma: export
#include "chakra/replay/backends.h"    // IWYU pragma: export
#include "chakra/replay/compute.h"     // IWYU pragma: export
#include "chakra/replay/data.h"        // IWYU pragma: export
#include "chakra/replay/elements.h"    // IWYU pragma: export
#include "chakra/replay/executor.h"    // IWYU pragma: export
#include "chakra/replay/plan.h"        // IWYU pragma: export
#include "chakra/replay/plugin.h"      // IWYU pragma: export
#include "chakra/replay/rendezvous.h"  // IWYU pragma: export
#include "chakra/replay/select.h"      // IWYU pragma: export
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

struct JobOptions {
  const BackendRow* backend = nullptr;
  Settings settings;
  RunOptions run;                                       ///< except `selected`
  std::vector<std::vector<bool>> selected = {};         ///< per rank of the job, as RunOptions::selected; empty: all
  std::vector<std::optional<Picoseconds>> begins = {};  ///< per rank, as RunOptions::begin_ps; empty: together
  /// Compare the operations of the ranks by partner before the run.
  bool agree = true;
};

/// Run one rank as a separate process: join the others, run and leave. plans.size() is 1.
/// Errors, in addition to those of Rendezvous::join(), BackendRow::open and run_rank():
/// replay.backend.missing, replay.comm.differ. On an error the other ranks are notified.
Result<RankRun> run_one(const RankPlan& plan, const World& world, const JobOptions& options);

/// Run all ranks as threads of this process, with a private rendezvous; world.rank and
/// world.rendezvous are ignored. Errors: of the rank that failed first; those of
/// run_one(); replay.backend.processes for a back end that requires one process per rank.
Result<std::vector<RankRun>> run_all(const std::vector<RankPlan>& plans, const World& world, const JobOptions& options);

/// Return a track per lane and per group without a lane, and a slice per node that ran
/// and took part. `runs` is parallel to `plans`. Cost: O(nodes of all repetitions).
result::Timeline timeline_of(const std::vector<RankPlan>& plans, const std::vector<RankRun>& runs,
                             const JobOptions& options);

}  // namespace chakra::replay
