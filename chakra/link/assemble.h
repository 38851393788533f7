// Items and dependencies -> Trace: ids in the order of time, attributes, the call tree, communication.
#pragma once

#include <vector>

#include "chakra/link/linking.h"

namespace chakra::link {

/// Build the Trace from everything. Consumes the recording and the graph. Requires that all steps ran.
trace::Trace assemble(Linking& l, trace::Builder& builder);

/// Return the items in an order in which each follows its dependencies and the items before on its thread; otherwise by
/// start. Contradictory measured times could form a cycle; then remove the inferred dependencies of the earliest item
/// in the cycle, or all dependencies of that item except the place on its thread. Finding: pytorch.time.circle.
/// Cost: O(items log items + dependencies).
std::vector<uint32_t> order_items(Linking& l);

}  // namespace chakra::link
