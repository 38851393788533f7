// Remote memory. Memory shared by ranks serves one request at a time, in order (docs/reference/compat.md, 8).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

struct Run;

struct SharedMemory {
  bool busy = false;
  std::deque<std::pair<uint32_t, trace::NodeId>> waiting;  ///< rank, node
};
using Memories = std::map<uint32_t, SharedMemory>;

/// Start a memory node. Errors: sim.compat.memory.
Result<void> start_memory(Run& run, uint32_t r, trace::NodeId n);
void memory_done(Run& run, uint32_t r, trace::NodeId n);

}  // namespace chakra::astra
