// Times that a profiler wrote but that cannot be: records that it never filled, operations that outlast their
// successors.
#pragma once

#include "chakra/recording/profile.h"

namespace chakra::recording {

/// Remove the records whose time the profiler did not fill: it is 0, since the profile's base or since the epoch, and
/// the other records are far from it. Count them in `profile.no_time`. Cost: O(records).
void remove_without_time(Profile& profile);

/// Clip device operations that last beyond the end of a later operation of their stream, which another call launched,
/// to the next start, unless one that waited begins where they end. Programmatic dependent launch lets an operation
/// begin early, but not end early; the operations of one call (a graph) may overlap in any way. Count them in
/// `profile.overruns`. Cost: O(operations log operations).
void clip_overruns(Profile& profile);

}  // namespace chakra::recording
