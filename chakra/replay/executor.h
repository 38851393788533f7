// A rank's trace by the wall clock: what the simulator does in simulated time. One thread has one loop: it starts
// nodes whose dependencies have ended and whose lane is free, ends computation when its time is up, and asks the back
// end which operations have ended.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/backend.h"
#include "chakra/replay/compute.h"
#include "chakra/replay/plan.h"

namespace chakra::replay {

struct RunOptions {
  const ComputeRow* compute = &kComputes[1];
  Settings compute_settings = {};
  double scale_compute = 1;
  std::string files = {};  ///< folder for the files of loads and stores; empty: they take their recorded time
  const FileCacheRow* file_cache = &kFileCaches[0];
  const FileOrderRow* file_order = &kFileOrders[0];
  uint32_t warmup = 0;              ///< repetitions before those that count
  uint32_t repetitions = 1;         ///< that count
  bool verify = false;              ///< fill inputs and compare outputs (data.h), where the back end moves data
  std::vector<bool> selected = {};  ///< per node: whether it runs; others take no time. Empty: all run
  /// When this rank begins, by the clock of the job that was recorded: each repetition begins as much later than that
  /// of the first rank. Nothing at any rank: together.
  std::optional<Picoseconds> begin_ps = {};
};

struct NodeTimes {
  std::vector<Picoseconds> start, end;
};

struct RankRun {
  /// Of each repetition that counts, by node: when it ran, by the clock of the job, whose zero is when the first of
  /// these repetitions began.
  std::vector<NodeTimes> times;
  /// Operations that were started later than they could have been, because the loop or the machine was late.
  Picoseconds late_median_ps = 0, late_max_ps = 0, late_total_ps = 0;
  std::optional<Picoseconds> begin_ps = {};  ///< how long after the first rank this one began; nothing: together
  Session::MeetingTimes meetings;
  int64_t collectives = 0, messages = 0;  ///< of a repetition
  uint64_t bytes = 0;                     ///< that this rank put into them
  Computed computed;                      ///< of the last repetition
};

/// Runs the plan, together with all other ranks, which do the same. A node of computation starts when its dependencies
/// have ended and its lane is free, and ends after its time; late looks at the clock do not add up, since these times
/// are computed. Communication starts and ends when the back end was really told, and has told. Errors, with
/// Code::stuck: replay.stuck (who waits for whom: when for World::timeout no operation has ended and no rank computed),
/// replay.stuck.local (nodes of this rank wait for each other), replay.verify, those of Rendezvous::poll(), of the
/// session and of the computers. After an error the caller aborts the session and the rendezvous. Cost: O((nodes +
/// edges) log) a repetition.
Result<RankRun> run_rank(const RankPlan& plan, const World& world, Rendezvous& rendezvous, Session& session,
                         const BackendRow& backend, const RunOptions& options);

}  // namespace chakra::replay
