// The operation a stream waited for, if not the operation launched last (rule W3b).
#pragma once

#include "chakra/link/linking.h"

namespace chakra::link {

/// Return the operation that `op` waited for. A call at `asked_ns` made the stream of `op` wait for an event without
/// a record. The result is on another stream of the device, was launched before that call, and ended last, at most
/// 12 us before `op` began. kNone if there is none, or if the launch or the stream of `op` explains its start. Reads
/// call_of_op, previous, ops_by_end. Cost: O(log operations + operations ended in the 12 us, at most 1,000).
uint32_t ended_just_before(const Linking& l, uint32_t op, int64_t asked_ns);

}  // namespace chakra::link
