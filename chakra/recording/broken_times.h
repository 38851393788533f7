// Mends impossible times in a profile: records that the profiler
// never filled in, operations that outlast their successors.
#pragma once

#include "chakra/recording/profile.h"

namespace chakra::recording {

/// Remove the records whose time the profiler did not fill in: the time is 0, since the profile's base or the epoch,
/// and the other records are far from 0. Count the removed records in `profile.no_time`. Cost: O(records).
void remove_without_time(Profile& profile);

/// Clip device operations that last beyond the end of a later operation of the stream, launched by another call,
/// to the next start, except if a waiting operation begins at the recorded end. Programmatic dependent launch
/// lets an operation begin early, but not end early; the operations of one call (a graph) may overlap in any
/// way. Count the clipped operations in `profile.overruns`. Cost: O(operations log operations).
void clip_overruns(Profile& profile);

}  // namespace chakra::recording
