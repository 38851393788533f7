// Compute time on another device. A measured time is scaled by the ratio of the two rooflines if the work of
// the operation is known, else by the ratio of memory bandwidths. A node without a measured time but with known
// work takes the time of the device's roofline. docs/explanation/simulation.md, "Devices", has the rules.
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

/// Source of the time of a compute node off the CPU.
enum class Scaling : uint8_t {
  roofline,         ///< measured, times the ratio of the devices' rooflines for its work
  bandwidth,        ///< measured, times the ratio of the devices' memory bandwidths: its work is unknown
  work,             ///< not measured: the roofline in the system file, for its work
  others,           ///< as `work`, by the device's constants for operations without a table
  host_copy,        ///< as measured: a copy from or to the host
  communication,    ///< as measured: a kernel of a communication library without a record
  given,            ///< as given: neither measured nor with known work
  unrecorded,       ///< as `bandwidth`: device work that was not recorded
  kept_unrecorded,  ///< as measured: device work that was not recorded, with System::keep_unrecorded
  unknown,          ///< as measured: the system file gives the roofline, but the recording's device is unknown
  table,            ///< the device's measured kernels, by shape; measured time by the ratio if both devices have tables
  extrapolated,     ///< as `table`, outside of the measured shapes
  stack,            ///< the attention rate of the stack
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

/// Return whether the node was not measured, so that its time before is not from the recording.
constexpr bool is_predicted(Scaling how) {
  return how == Scaling::work || how == Scaling::others || how >= Scaling::table;
}
constexpr bool is_measured_kernel(Scaling how) { return how == Scaling::table || how == Scaling::extrapolated; }

/// Nodes of all ranks that moved from one device to another in one way.
struct ScaledTime {
  std::string from;  ///< "" if not measured
  std::string to;
  Scaling how = Scaling::roofline;
  int64_t nodes = 0;
  Picoseconds before_ps = 0, after_ps = 0;  ///< sums
  /// Error of after_ps: exp(mean of abs(ln(predicted / true))) - 1, weighted by time. 0: unknown for a part of it.
  double error() const { return after_ps > 0 && unknown_ps == 0 ? off_ps / static_cast<double>(after_ps) : 0; }
  double off_ps = 0;           ///< sum of times times their errors
  Picoseconds unknown_ps = 0;  ///< sum of times with an unknown error
};

/// Set the times of compute nodes of ranks with a device (System::device_of) to that device.
/// Ranks of a class on different devices get separate classes. Other nodes keep their time.
/// Findings: sim.device.scaled, sim.device.peak, sim.device.too_fast, sim.device.kernels,
/// sim.device.extrapolated, sim.device.host, sim.device.measured, sim.device.memory.
/// Errors: sim.device.unknown. Cost: O(ranks + nodes of the classes, once for each device).
Result<std::vector<ScaledTime>> retarget(trace::ClassJob& job, const device::System& system, Findings& findings);

/// Of a generated job: the rank that fills its device most; of ranks without a device, the one that needs most.
struct MemoryUse {
  int64_t rank = 0;
  double bytes = 0;         ///< at the peak
  bool fsdp = false;        ///< as for device::memory_at_most()
  double device_bytes = 0;  ///< 0: unknown
  std::string device;       ///< "": unknown

  double most() const { return device::memory_at_most(bytes, fsdp); }
};
/// Return "yes", "maybe" (with allocator and so on) or "no". Requires a known device.
std::string_view fits(const MemoryUse& use);

/// Return the rank that needs most memory on each device, the fullest device first and ranks without a device last.
/// Empty if the traces do not state the memory. Cost: O(ranks log devices).
std::vector<MemoryUse> memory_uses(const trace::ClassJob& job, const device::System& system);
/// Return the finding sim.device.memory if the rank does not fit, or may not fit, into its device, if that is known.
std::optional<Finding> memory_finding(const MemoryUse& use);

/// Return the device of the recording: `system.recorded`, else the device in
/// the metadata if there is exactly one and the table has it; else no value.
std::optional<device::Device> recorded_device(const trace::Trace& trace, const device::System& system);

}  // namespace chakra::sim
