// The planes of the host -> executed instructions of CPUs, and the calls that start events of GPUs. Inside the room.
#pragma once

#include "chakra/xla/plane.h"
#include "chakra/xla/profile.h"

namespace chakra::xla {

/// Add the events, lines and calls of a plane. `at`: the place in the file for messages. Throws protozero::exception.
void read_host(const Plane& plane, Profile& profile, const char*& at);

}  // namespace chakra::xla
