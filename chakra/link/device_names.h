// The names of devices, as a Kineto trace has them (deviceProperties). Linking keeps those of the devices that were
// used: a simulation on another device needs the one of the recording.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "chakra/link/json_value.h"
#include "chakra/trace/trace.h"

namespace chakra::pytorch {

using DeviceNames = std::map<int64_t, std::string>;  ///< by the device's number

/// The value of deviceProperties. Entries without a number or with an empty name, as some ROCm versions write it, say
/// nothing.
DeviceNames read_device_names(simdjson::ondemand::document& value);

/// Adds the metadata `device_name` to a trace whose operations ran on `streams`: the name that all their devices have;
/// where several have different ones, `device_name_N` for each device N.
void keep_device_names(const DeviceNames& names, std::span<const trace::Lane> streams, trace::Trace& trace);

}  // namespace chakra::pytorch
