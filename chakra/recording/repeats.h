// Records that are in a profile twice.
#pragma once

#include "chakra/recording/profile.h"

namespace chakra::recording {

/// Remove the records that repeat an earlier one: equal in name, thread or stream, start, duration and ids (and bytes).
/// Records without ids and without length are kept, because events of no length may repeat. Count the removed records
/// in `profile.repeats`. Cost: O(records).
void remove_repeats(Profile& profile);

}  // namespace chakra::recording
