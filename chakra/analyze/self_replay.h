// Self-check of a linked trace: every node starts as soon as the dependencies allow, with the measured duration; the
// result is compared with the measurement. A graph that turns every wait into host time would also pass. The check is
// therefore repeated with half the device durations, and the report has the composition of the resulting critical
// path.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

/// Kind of a stretch of the critical path.
enum class PathPart : uint8_t { device, constants, host_op, host_gap, sync_remainder, initial_condition, unrecorded };
inline constexpr std::array<std::string_view, 7> kPathParts{
    "device", "constants", "host_op", "host_gap", "sync_remainder", "initial_condition", "unrecorded"};

struct SelfReplay {
  struct Step {
    std::string name;
    Picoseconds measured_ps = 0;  ///< start of the first host operation to the end of host operations and of
    Picoseconds replayed_ps = 0;  ///< device operations launched in the step
    double error = 0;             ///< replayed / measured - 1
  };
  /// ProfilerStep#n; else one step: the linked iteration, or from the first launch to the last device end.
  std::vector<Step> steps;
  double median_error = 0;  ///< of |error| over steps
  double worst_error = 0;   ///< error of the step with the largest |error|

  // The whole file: from the first start to the last end.
  Picoseconds measured_ps = 0;
  Picoseconds replayed_ps = 0;       ///< the longest path
  Picoseconds half_device_ps = 0;    ///< likewise, with half the device durations
  Picoseconds half_recorded_ps = 0;  ///< likewise, but with full durations of device work that was not recorded
  double error = 0;                  ///< replayed / measured - 1

  std::array<double, kPathParts.size()> critical_path{};  ///< shares, sum 1
  bool informative = false;  ///< device and constants make at least 10 % of the critical path

  Picoseconds start_error_median_ps = 0, start_error_max_ps = 0;  ///< |simulated - measured| start, device
  /// Share of the time of all steps in which a stream is idle without a reason; maximum over
  /// streams.
  double stream_stall_share = 0;
  Findings findings;  ///< sim.replay.stall; sim.replay.error: error above 1 %
};

/// Run the self-check. Requires measured times, as written by `chakra link`.
/// Errors: sim.replay.no_times, sim.replay.cycle. Cost: O(nodes + edges).
Result<SelfReplay> self_replay(const trace::Trace& trace);

}  // namespace chakra::analyze
