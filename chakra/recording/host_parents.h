// The callers in a host trace (host_parents.cpp): turn ids into rows.
#pragma once

#include <vector>

#include "chakra/recording/host_trace.h"
#include "chakra/recording/json_value.h"

namespace chakra::recording {

/// The parents of a node, by id.
struct Parents {
  uint64_t caller = 0, forward = 0;
};

/// Fill parent_row, fw_parent_row and HostTrace::open. `parents`: of the nodes; freed as
/// soon as possible. With `salvage`, keep the first of several nodes with equal ids.
/// Errors: pytorch.host.duplicate_id, pytorch.host.missing_parent, pytorch.host.parent_cycle. Cost: O(nodes).
Result<void> link_parents(HostTrace& host, std::vector<Parents>& parents, const StringPool& strings, Salvage* salvage);

}  // namespace chakra::recording
