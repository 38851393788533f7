// What a stream waited for when the operation that was launched last cannot be it (rule W3b).
#pragma once

#include "chakra/link/linking.h"

namespace chakra::link {

/// A call at `asked_ns` made the stream of `op` wait for an event, of which nothing is recorded: the operation of
/// another stream of the device, launched before that call, that ended last, at most 12 us before `op` began; kNone if
/// none did, or if `op` began when its launch or its own stream let it. Reads call_of_op, previous, ops_by_end.
/// Cost: O(log operations + those that ended in these 12 us, of which the last 1,000 are looked at).
uint32_t ended_just_before(const Linking& l, uint32_t op, int64_t asked_ns);

}  // namespace chakra::link
