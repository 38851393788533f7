// How the slices of a report's timeline belong together. Inside report.
#pragma once

#include <cstdint>
#include <span>

#include "chakra/base/base.h"
#include "chakra/job/parts.h"
#include "chakra/match/match.h"
#include "chakra/report/page.h"
#include "chakra/result/result.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::report {

/// Return the dependencies, messages and collectives of a job whose timeline shows all ranks, or some. A slice stands
/// for the node with its id; ids that a rank has twice are left out. Cost: O(n log n) for n slices and edges, and that
/// of match::match().
SliceLinks links_of(result::Timeline& timeline, const job::SliceFinder& finder, const trace::TraceSet& job,
                    const match::GroupTable& groups);
/// Likewise, of the ranks of a job by classes that the timeline shows. Members that are not shown have no slice.
SliceLinks links_of(result::Timeline& timeline, const job::SliceFinder& finder, const trace::ClassJob& job,
                    const match::GroupTable& groups);

/// Add the critical path of a simulation.
void add_path(const job::SliceFinder& finder, std::span<const sim::PathPiece> path, SliceLinks& links);
/// Add the longest critical path of a rank, as `chakra analyze` finds it; of equal ones the first.
/// Errors: analyze.cycle, analyze.sum.
Result<void> add_path(const result::Timeline& timeline, const job::SliceFinder& finder, const trace::TraceSet& job,
                      SliceLinks& links);

}  // namespace chakra::report
