// What the linked ranks of a job show together: groups, windows, clocks and senders that the recording of one rank
// leaves open, and mismatches.
#pragma once

#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::recorded {

/// A linked rank.
struct RankToCompare {
  trace::Trace whole;          ///< set by the caller
  trace::Trace communication;  ///< as by analyze::communication_of
  match::RankWindow window;    ///< steps and times; what linking left open is set by the caller

  /// Return the rank without `whole`. Cost: O(nodes).
  static RankToCompare of(const trace::Trace& trace);
};

struct ComparedRanks {
  trace::TraceSet traces;   ///< completed, each with its start on the clock of the job
  analyze::JobTimes times;  ///< clocks, stragglers, waiting and transfer
  Findings mismatches;      ///< in the communication
};
/// Compare several ranks. Findings: of match and analyze, sim.start.clock; equal ones of ranks are joined. Cost: as for
/// match::match and analyze::job_times, up to three times.
ComparedRanks compare_ranks(std::vector<RankToCompare> ranks, Findings& findings);

}  // namespace chakra::recorded
