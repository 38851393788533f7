// Compute time on another device. What was measured on one device is scaled to another: by the ratio of the two
// rooflines where the work of an operation is known, else by the ratio of memory bandwidths. What was not measured but
// says its work takes what the roofline of the device gives. docs/explanation/simulation.md, "Devices", has the rules.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// How the time of a compute node off the CPU came about.
enum class Scaling : uint8_t {
  roofline,         ///< measured, times the ratio of the devices' rooflines for its work
  bandwidth,        ///< measured, times the ratio of the devices' memory bandwidths: its work is not known
  work,             ///< not measured: the roofline that the system file gives, for its work
  others,           ///< the same, by the device's constants for operations without a table
  host_copy,        ///< as measured: a copy from or to the host
  communication,    ///< as measured: a kernel of a communication library whose record is missing
  given,            ///< as given: neither measured nor with known work
  unrecorded,       ///< as bandwidth: device work that was not recorded
  kept_unrecorded,  ///< as measured: the same, with System::keep_unrecorded
  unknown,          ///< as measured: the roofline is given by the system file, and the recording's device is not known
  table,         ///< the device's measured kernels, by shape; measured time by the ratio where both devices have some
  extrapolated,  ///< the same, outside of the measured shapes
  stack,         ///< the rate of the stack's attention
  compute_bound,
  memory_bound,
  latency_bound,  ///< not measured, without a table: by its class (device::ClassPrices)
};
struct ScalingRow {
  std::string_view name;  ///< in results
  std::string_view text;
  bool changes;
};
inline constexpr std::array<ScalingRow, 16> kScalings{{
    {"roofline", "by ratio of rooflines", true},
    {"bandwidth", "by ratio of memory bandwidths", true},
    {"work", "from work by roofline", true},
    {"others", "from work by the constants of 'others'", true},
    {"host_copy", "unchanged: copies from or to the host", false},
    {"communication", "unchanged: communication without a record", false},
    {"given", "unchanged: given, without work", false},
    {"unrecorded", "device work that was not recorded, by ratio of memory bandwidths", true},
    {"kept_unrecorded", "unchanged: device work that was not recorded", false},
    {"unknown", "unchanged: recorded on an unknown device", false},
    {"table", "from shape by measured kernels", true},
    {"extrapolated", "from shape by measured kernels, extrapolated", true},
    {"stack", "by the rate of the stack's attention", true},
    {"compute_bound", "estimated as compute-bound kernels", true},
    {"memory_bound", "estimated as memory-bound kernels", true},
    {"latency_bound", "estimated as latency-bound kernels", true},
}};

/// Whether the time before says nothing of the recording: the node was not measured.
constexpr bool is_predicted(Scaling how) {
  return how == Scaling::work || how == Scaling::others || how >= Scaling::table;
}
constexpr bool is_measured_kernel(Scaling how) { return how == Scaling::table || how == Scaling::extrapolated; }

/// Nodes of all ranks that came from one device to another in one way.
struct ScaledTime {
  std::string from;  ///< "" where nothing was measured
  std::string to;
  Scaling how = Scaling::roofline;
  int64_t nodes = 0;
  Picoseconds before_ps = 0, after_ps = 0;  ///< sums
  /// Of after_ps: exp(mean of abs(ln(predicted / true))) - 1, weighted by time. 0: not known of all of it.
  double error() const { return after_ps > 0 && unknown_ps == 0 ? off_ps / static_cast<double>(after_ps) : 0; }
  double off_ps = 0;           ///< sum of times times their errors
  Picoseconds unknown_ps = 0;  ///< sum of times whose error is not known
};

/// Gives the compute nodes of ranks with a device (System::device_of) their time on it; ranks of a class that are on
/// different devices get classes of their own. The rest keeps its time.
/// Findings: sim.device.scaled, sim.device.peak, sim.device.too_fast, sim.device.kernels, sim.device.extrapolated,
/// sim.device.host.
/// Errors: sim.device.unknown. Cost: O(ranks + nodes of the classes, once for each device).
Result<std::vector<ScaledTime>> retarget(trace::ClassJob& job, const device::System& system, Findings& findings);

/// The device on which a trace was recorded: `system.recorded`, else what its metadata says, if that is one name and
/// in the table; else nothing.
std::optional<device::Device> recorded_device(const trace::Trace& trace, const device::System& system);

}  // namespace chakra::sim
