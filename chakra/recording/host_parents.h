// Who called whom in a host trace (host_parents.cpp): ids become rows.
#pragma once

#include <vector>

#include "chakra/recording/host_trace.h"
#include "chakra/recording/json_value.h"

namespace chakra::recording {

/// Of a node, by id.
struct Parents {
  uint64_t caller = 0, forward = 0;
};

/// Fills parent_row, fw_parent_row and HostTrace::open. `parents`: of the nodes; freed when they are not needed any
/// more. With `salvage`, of nodes with equal ids the first stays.
/// Errors: pytorch.host.duplicate_id, pytorch.host.missing_parent, pytorch.host.parent_cycle. Cost: O(nodes).
Result<void> link_parents(HostTrace& host, std::vector<Parents>& parents, const StringPool& strings, Salvage* salvage);

}  // namespace chakra::recording
