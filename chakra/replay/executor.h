// Runs a rank's trace by the wall clock as the simulator does in simulated time.
// One loop in one thread starts nodes with ended dependencies and a free lane, ends
// computation when its time is up, and polls the back end for ended operations.
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
  const ComputeRow* compute = &kSleep;
  Settings compute_settings = {};
  double scale_compute = 1;
  std::string files = {};  ///< folder for the files of loads and stores; empty: these take their recorded time
  const FileCacheRow* file_cache = &kFileCaches[0];
  const FileOrderRow* file_order = &kFileOrders[0];
  uint32_t warmup = 0;              ///< repetitions that are not measured, before the others
  uint32_t repetitions = 1;         ///< repetitions that are measured
  bool verify = false;              ///< fill inputs and compare outputs (data.h) if the back end moves data
  std::vector<bool> selected = {};  ///< per node: whether it runs; other nodes take no time. Empty: all run
  /// Begin of this rank by the clock of the recorded job. Each repetition begins this much
  /// later than that of the earliest rank. No value at any rank: all ranks begin together.
  std::optional<Picoseconds> begin_ps = {};
};

struct NodeTimes {
  std::vector<Picoseconds> start, end;
};

struct RankRun {
  /// Per measured repetition and node: begin and end by the job's
  /// clock. Time 0 is the begin of the first measured repetition.
  std::vector<NodeTimes> times;
  /// Delay of operations that started later than possible because the loop or the machine was late.
  Picoseconds late_median_ps = 0, late_max_ps = 0, late_total_ps = 0;
  std::optional<Picoseconds> begin_ps = {};  ///< begin after that of the earliest rank; no value: together
  Session::MeetingTimes meetings;
  int64_t collectives = 0, messages = 0;  ///< per repetition
  uint64_t bytes = 0;                     ///< contributed by this rank
  Computed computed;                      ///< of the last repetition
};

/// Run the plan together with all other ranks, which must do the same. A compute node starts when its
/// dependencies have ended and its lane is free, and ends after its duration. These times are computed, so
/// late checks of the clock do not add up. Communication starts with the actual call of the back end and
/// ends with its report. Errors, with Code::stuck: replay.stuck (the waits of the ranks, if for
/// World::timeout no operation ended and no rank computed), replay.stuck.local (nodes of this rank form a
/// cycle), replay.verify, those of Rendezvous::poll(), of the session and of the computers. After an error
/// the caller must abort the session and the rendezvous. Cost: O((nodes + edges) log) per repetition.
Result<RankRun> run_rank(const RankPlan& plan, const World& world, Rendezvous& rendezvous, Session& session,
                         const BackendRow& backend, const RunOptions& options);

}  // namespace chakra::replay
