// The names of the devices in use: a simulation on another device needs the name of the recording's device.
#pragma once

#include <span>

#include "chakra/link/from_recording.h"
#include "chakra/trace/trace.h"

namespace chakra::link {

/// Add the metadata `device_name` to a trace whose operations ran on `streams`: the common name of
/// all its devices; for devices with different names, `device_name_N` for each device N.
void keep_device_names(const DeviceNames& names, std::span<const trace::Lane> streams, trace::Trace& trace);

}  // namespace chakra::link
