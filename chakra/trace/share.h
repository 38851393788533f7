// Traces that hold the same share their memory.
#pragma once

#include "chakra/trace/trace.h"

namespace chakra::trace {

/// Columns, edges and texts of `trace` that equal those of `other` become the same memory; nothing changes for who
/// reads. Nothing is shared where their strings differ, since columns name strings by number. Attributes and tensors
/// are left as they are. Cost: O(size of both), less where they differ early.
void share_equal(Trace& trace, const Trace& other);

/// All of these share their memory, as copies of one trace do of which nothing was edited. Cost: O(columns).
bool share_all(const Trace& a, const Trace& b);

}  // namespace chakra::trace
