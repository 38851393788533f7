// What the measured traces of a job say together: clocks, waiting, stragglers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

/// The communication of a trace with its measured times (an operator's pieces as one), in order, and
/// nothing else: small enough to keep for every rank of a job. Cost: O(nodes + edges).
trace::Trace communication_of(const trace::Trace& trace);

/// A rank's clock shows t + offset + drift * (t - reference) when the reference rank's shows t, with the
/// first collective's end as reference.
struct Clock {
  int64_t rank = 0;
  bool known = true;  ///< false: it shares no collective with a rank whose clock is known
  double offset_ns = 0;
  double drift_ppm = 0;       ///< 0 where the collectives do not span enough time to tell
  double uncertainty_ns = 0;  ///< how far a collective's ends still differ: 1.48 times the median deviation
  int64_t collectives = 0;    ///< that it was told from
};

/// A rank that others waited for.
struct Straggler {
  int64_t rank = 0;
  int64_t last_at = 0;   ///< collectives to which it came last
  double waited_ns = 0;  ///< how long the rank before it waited for it there, summed up
};

/// All collectives of one group, type and size, clocks aligned.
struct CollectiveTimes {
  std::string group;
  trace::CommType type = trace::CommType::unknown;
  uint64_t bytes = 0;
  uint32_t members = 0;
  int64_t count = 0;
  double wait_ns = 0;      ///< from each member's start to the last one's, mean over members, summed up
  double transfer_ns = 0;  ///< from the last start to the last end, summed up
};

struct JobTimes {
  std::vector<Clock> clocks;          ///< one per rank, ascending
  std::vector<Straggler> stragglers;  ///< most waited for first; without those nobody waited for
  std::vector<CollectiveTimes> collectives;
};

/// Requires measured times; collectives without them are left out.
/// Clocks: a robust line (least squares, what deviates by more than three times the spread left out)
/// through the differences of ends, rank by rank along the pairs that share most collectives.
JobTimes job_times(const trace::TraceSet& job, const match::Matching& matching);

}  // namespace chakra::analyze
