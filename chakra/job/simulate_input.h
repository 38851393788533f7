// A job and the system that it runs on, read from files: what simulate_job() and what_if() run.
#pragma once

#include "chakra/device/device.h"
#include "chakra/job/simulate.h"
#include "chakra/match/match.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// Reads what the options name: network, system, groups, traces, which are proven; and what the run is told. Without a
/// network the fabric stays empty. Returns the groups as the file has them.
/// Errors: cli.usage, those of reading and check::prove.
Result<match::GroupTable> read_input(const SimulateOptions& options, sim::SimInput& input, Findings& findings);

/// The system, not the trace, says what nodes take: by devices, or by a roofline.
inline bool gives_times(const device::System& system) {
  return system.target || system.roofline || !system.devices.empty();
}
/// Puts the devices into the system. Errors: those of device::find_or_load.
Result<void> use_devices(const DeviceOptions& options, device::System& system);

}  // namespace chakra::job
