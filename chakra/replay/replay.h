// Replay: a trace for real, by the wall clock, on what there is. Every lane of a rank runs its nodes as in the
// simulator; a back end carries out the communication between the ranks; when nodes really ran is a Timeline like any
// other. Ranks are threads of this process, or processes of their own, which find each other at a rendezvous.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/replay/backend.h"     // IWYU pragma: export
#include "chakra/replay/compute.h"     // IWYU pragma: export
#include "chakra/replay/executor.h"    // IWYU pragma: export
#include "chakra/replay/flows.h"       // IWYU pragma: export
#include "chakra/replay/plan.h"        // IWYU pragma: export
#include "chakra/replay/plugin.h"      // IWYU pragma: export
#include "chakra/replay/rendezvous.h"  // IWYU pragma: export
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

struct JobOptions {
  const BackendRow* backend = nullptr;
  Settings settings;
  RunOptions run;                                       ///< but for its `selected`
  std::vector<std::vector<bool>> selected = {};         ///< per rank of the job, as RunOptions::selected; empty: all
  std::vector<std::optional<Picoseconds>> begins = {};  ///< likewise, as RunOptions::begin_ps; empty: together
  /// Before anything runs, the ranks compare which operations each has with whom.
  bool agree = true;
};

/// One rank, as a process of its own: joins the others, runs and leaves. plans.size() is 1. Errors, beside those of
/// Rendezvous::join(), BackendRow::open and run_rank(): replay.backend.missing, replay.comm.differ. On an error the
/// other ranks are told.
Result<RankRun> run_one(const RankPlan& plan, const World& world, const JobOptions& options);

/// All ranks, as threads of this process, which meet in a place of their own; world.rank and the rendezvous do not
/// count. Errors: of the rank that failed first; those of run_one(), replay.backend.processes for a back end that
/// wants a process for each rank.
Result<std::vector<RankRun>> run_all(const std::vector<RankPlan>& plans, const World& world, const JobOptions& options);

/// A track for each lane and each group without one, a slice for each node that ran and took part. `runs` is parallel
/// to `plans`. Cost: O(nodes of all repetitions).
result::Timeline timeline_of(const std::vector<RankPlan>& plans, const std::vector<RankRun>& runs,
                             const JobOptions& options);

}  // namespace chakra::replay
