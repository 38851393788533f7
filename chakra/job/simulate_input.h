// A job and the system for the run, read from files: the input of simulate_job() and what_if().
#pragma once

#include "chakra/device/device.h"
#include "chakra/job/simulate.h"
#include "chakra/match/match.h"
#include "chakra/sim/sim.h"

namespace chakra::job {

/// Read the files in the options (network, system, groups, traces), prove the traces, and set the parameters of the
/// run. Without a network, the fabric stays empty. Returns the groups as in the file.
/// Errors: cli.usage; as for reading and check::prove.
Result<match::GroupTable> read_input(const SimulateOptions& options, sim::SimInput& input, Findings& findings);

/// Return true if the system sets the times of nodes (devices or a roofline), instead of the trace.
inline bool gives_times(const device::System& system) {
  return system.target || system.roofline || !system.devices.empty();
}
/// Add the devices to the system. Errors: as for device::find_or_load.
Result<void> use_devices(const DeviceOptions& options, device::System& system);

}  // namespace chakra::job
