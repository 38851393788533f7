// Layouts of generated jobs. A generated job has its layout in the metadata, so that a job
// with more or fewer data-parallel ranks is laid out as by the generator. Inside whatif.
#pragma once

#include <optional>

#include "chakra/gen/gen.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

/// Return the layout that all ranks of a generated job have in their metadata; nullopt for other jobs.
/// Errors: whatif.dp.groups if layouts differ, or if ranks lack traces or do not match the layout.
Result<std::optional<gen::Layout>> common_layout(const trace::TraceSet& job);

/// Give ranks of the mesh `then` the rows that a system file has for single ranks of the mesh `now`, which differs in
/// data-parallel ranks only: replica r has the rows of replica r modulo their number. Cost: O(ranks of `then`).
void move_rank_rows(const gen::Mesh& now, const gen::Mesh& then, device::System& system);

/// Change the number of data-parallel ranks. Requires SimInput::matching, and no recorded transfers.
/// Errors: whatif.dp.mesh, whatif.dp.alone. Cost: O(ranks + their communication).
Result<Reached> change_layout(const gen::Layout& before, int64_t wanted, sim::SimInput& input);

}  // namespace chakra::whatif
