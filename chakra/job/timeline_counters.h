// Counters of a timeline that need more than its slices.
#pragma once

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

/// The rank of counters that belong to no rank: those of links.
inline constexpr int64_t kOfNoRank = -1;

/// Add the load of the busiest links over time, in 1/10,000 of the rate: the table link_loads of `chakra report`.
void add_load_counters(const sim::LoadsOverTime& loads, result::Timeline& timeline);
/// Add the bytes of live tensors of each rank and device (analyze::live_bytes) at the times of the timeline.
/// `measured`: the timeline is that of the traces, and not of a simulation; then the counters are those of `chakra
/// analyze`. A rank of a simulation is left out if a node with tensors has no slice. Errors: analyze.cycle.
Result<void> add_memory_counters(const trace::TraceSet& job, bool measured, result::Timeline& timeline);

}  // namespace chakra::job
