// Nodes of a host trace with a parent outside the file: the parent had not ended when the observer stopped.
#pragma once

#include <vector>

#include "chakra/recording/host_trace.h"

namespace chakra::recording {

/// A node without its parent in the file.
struct Orphan {
  uint32_t row = 0;
  uint64_t parent = 0;
};

/// Attach orphans to the root of their thread, else to that of the process. PyTorch writes a node when the node ends,
/// so an operator open when the observer stopped is missing, but its children are in the file. On its thread, all later
/// operators are below the open operator (unless the thread also has Gloo's records, which confuse the observer). An
/// orphan outside this rule is evidence of a damaged file; `any` attaches such orphans as well.
/// Requires that the other parents are known and without cycles. Fills HostTrace::open.
/// Errors: pytorch.host.missing_parent. Cost: O(nodes).
Result<void> hang_orphans(HostTrace& host, const StringPool& strings, const std::vector<Orphan>& orphans, bool any);

}  // namespace chakra::recording
