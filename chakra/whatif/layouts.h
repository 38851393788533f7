// Generated jobs say how they lie on their ranks, so that with more or fewer data-parallel ranks they lie as the
// generator would place them. Inside whatif.
#pragma once

#include <optional>

#include "chakra/gen/gen.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

/// The layout that all ranks of a generated job have in their metadata. Nothing of other jobs.
/// Errors: whatif.dp.groups where ranks have no trace, or others than that layout has.
Result<std::optional<gen::Layout>> common_layout(const trace::TraceSet& job);

/// The job with that many data-parallel ranks. Requires SimInput::matching, and no recorded transfers.
/// Errors: whatif.dp.mesh, whatif.dp.alone. Cost: O(ranks + their communication).
Result<Reached> change_layout(const gen::Layout& before, int64_t wanted, sim::SimInput& input);

}  // namespace chakra::whatif
