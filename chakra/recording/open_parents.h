// Nodes of a host trace whose parent is not in the file, because it had not ended when the observer stopped.
#pragma once

#include <vector>

#include "chakra/recording/host_trace.h"

namespace chakra::recording {

/// A node whose parent is not in the file.
struct Orphan {
  uint32_t row = 0;
  uint64_t parent = 0;
};

/// Hangs orphans on the root of their thread, else on that of the process. PyTorch writes a node when it ends, so of
/// what was open when the observer stopped only the children are in the file: on its thread, all that began later is
/// below it (but where Gloo's records stand on the thread too, which confuse the observer). An orphan for which this
/// does not hold tells of a damaged file; with `any`, it is hung all the same.
/// Requires that the other parents are known and without cycles. Fills HostTrace::open.
/// Errors: pytorch.host.missing_parent. Cost: O(nodes).
Result<void> hang_orphans(HostTrace& host, const StringPool& strings, const std::vector<Orphan>& orphans, bool any);

}  // namespace chakra::recording
