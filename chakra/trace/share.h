// Share memory between equal traces.
#pragma once

#include "chakra/trace/trace.h"

namespace chakra::trace {

/// Let columns, edges and strings of `trace` that equal those of `other` use the same memory. Readers see
/// no change. Columns name strings by number, so they can be equal where the strings differ.
/// Attributes and tensors stay unchanged. Cost: O(size of both), less if the traces differ early.
void share_equal(Trace& trace, const Trace& other);

/// Whether columns, edges and communications all share memory, as in unedited copies of a trace. Strings may differ, so
/// that a number can stand for other names. Cost: O(columns).
bool share_all(const Trace& a, const Trace& b);

}  // namespace chakra::trace
