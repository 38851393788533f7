// Devices in 'chakra sim': the options, the table of scaled time, what ranks do per second.
#pragma once

#include "chakra/cli/cli.h"
#include "chakra/job/job.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {

/// --device, --from-device, --unrecorded.
Option device_option(job::DeviceOptions& options);
Option from_device_option(job::DeviceOptions& options);
Option unrecorded_option(job::DeviceOptions& options);

/// One row for each pair of devices and way of scaling; empty where no rank has a device.
table::Table device_table(const sim::SimReport& report);
/// "rates per rank: 31.20 to 40.10 TFLOP/s, 820.1 GB/s, MFU 4.1 % of H100-SXM", a line; "" where no work is known.
std::string rates_line(const sim::SimReport& report);
/// Adds `device`, `ops`, `bytes`, `ops_per_s`, `bytes_per_s` and `mfu` (null where it is not known) of each rank of an
/// actor.
void add_rates(const sim::ActorReport& actor, Json& json);
Json devices_json(const sim::SimReport& report);

/// The rows of 'chakra list devices'.
table::Table list_devices();

}  // namespace chakra::cli
