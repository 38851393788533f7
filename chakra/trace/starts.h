// Whether times of a trace were measured.
#pragma once

#include <algorithm>

#include "chakra/trace/trace.h"

namespace chakra::trace {

/// Return whether a node has a measured start. Cost: O(nodes) at most.
inline bool has_starts(const Trace& trace) {
  return std::any_of(trace.flags.begin(), trace.flags.end(), [](uint8_t flags) { return flags & kHasStart; });
}

}  // namespace chakra::trace
