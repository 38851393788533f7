// The names of the devices that were used: a simulation on another device needs the one of the recording.
#pragma once

#include <span>

#include "chakra/link/from_recording.h"
#include "chakra/trace/trace.h"

namespace chakra::link {

/// Adds the metadata `device_name` to a trace whose operations ran on `streams`: the name that all their devices have;
/// where several have different ones, `device_name_N` for each device N.
void keep_device_names(const DeviceNames& names, std::span<const trace::Lane> streams, trace::Trace& trace);

}  // namespace chakra::link
