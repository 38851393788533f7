// A plane of a GPU or TPU -> events. Inside the room.
#pragma once

#include "chakra/xla/plane.h"
#include "chakra/xla/profile.h"

namespace chakra::xla {

/// The device of a plane: "/device:GPU:0".
struct DeviceName {
  Profile::Kind kind = Profile::Kind::cpu;  ///< cpu: another plane
  int64_t number = 0;
};
DeviceName device_name(std::string_view plane);

/// Append the executed events of a plane, with the program, the run and the step of each event as far as the plane
/// states them. `at`: set to the event that is read. Throws protozero::exception.
void read_device(const Plane& plane, DeviceName device, Profile& profile, const char*& at);

}  // namespace chakra::xla
