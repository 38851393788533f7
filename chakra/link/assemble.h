// Items and dependencies -> Trace: ids in the order of time, attributes, the call tree, communication.
#pragma once

#include <vector>

#include "chakra/link/linking.h"

namespace chakra::link {

/// Everything as a Trace. Takes the recording and the graph apart. Requires that all steps ran.
trace::Trace assemble(Linking& l, trace::Builder& builder);

/// Items such that each stands after all it depends on and what is before it on its thread, and else by start.
/// Measured times that contradict each other could make a circle; then the dependencies of the earliest item in it that
/// a rule inferred go, or all of it but its place on its thread. Finding: pytorch.time.circle.
/// Cost: O(items log items + dependencies).
std::vector<uint32_t> order_items(Linking& l);

}  // namespace chakra::link
