// The memory and the processor time that the actors of a job need, predicted before the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

struct RunSize {
  double ranks = 0, actors = 0;
  double nodes = 0, transfers = 0;  ///< of all actors; transfers: collectives and messages
  double rank_nodes = 0;            ///< of all ranks
  bool bounded = false;             ///< two runs give bounds; the ends of the first one are kept

  double bytes() const;
  double seconds() const;  ///< in closed form; shared links cost more
};

/// Count the actors of a job, one per colour, and their nodes. Cost: O(ranks + nodes of the classes).
RunSize size_of_run(const trace::ClassJob& job, const std::vector<uint32_t>& colors);

/// Refuse a run that needs more than `available` bytes. `whole`: every rank is a separate actor by request, rather
/// than because ranks differ. Errors: sim.memory.
Result<void> check_memory(const RunSize& size, uint64_t available, const trace::ClassJob& job,
                          const device::System& system, bool whole);

}  // namespace chakra::sim
