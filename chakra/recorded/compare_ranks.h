// What the linked ranks of a job show together: groups, windows, clocks and senders that the recording of one rank
// leaves open, and mismatches.
#pragma once

#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::recorded {

/// First start and last end of the measured work; empty without measured times.
struct Span {
  Picoseconds begin = INT64_MAX, end = INT64_MIN;
  bool empty() const { return begin > end; }
};

/// The part of a linked rank that a comparison needs: small enough to keep for every rank of a job.
struct RankFacts {
  trace::Trace communication;  ///< as by analyze::communication_of
  match::RankWindow window;    ///< steps and times; what linking left open is set by the caller
  Span span;
  int64_t iteration = -1;  ///< the linked iteration, of several; set by the caller

  /// Cost: O(nodes).
  static RankFacts of(const trace::Trace& trace);
};

struct ComparedRanks {
  trace::TraceSet communication;  ///< completed, each trace with the start of its rank on the clock of the job
  analyze::JobTimes times;        ///< clocks, stragglers, waiting and transfer
  Findings mismatches;            ///< in the communication
};
/// Compare several ranks. Findings: of match and analyze, sim.start.clock, recorded.iterations; equal ones of ranks are
/// joined. Cost: as for match::match and analyze::job_times, up to three times.
ComparedRanks compare_ranks(std::vector<RankFacts> ranks, Findings& findings);
/// Complete the linked trace of a rank from the compared communication of the rank. Cost: O(nodes).
void complete(const trace::Trace& communication, trace::Trace& whole);

}  // namespace chakra::recorded
