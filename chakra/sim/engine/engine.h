// One run of a job with one contention model.
#pragma once

#include "chakra/sim/sim.h"

namespace chakra::sim {

/// Run a job as simulate() does. Requires a congestion other than automatic.
Result<SimReport> run_engine(SimInput input);

struct Attempt {
  double share = 1;  ///< nodes that must be simulated, of those of all ranks
  SimReport report;
};
/// As run_engine(), but the report is empty if the share is above `most_share`.
Result<Attempt> try_engine(SimInput input, double most_share);

}  // namespace chakra::sim
