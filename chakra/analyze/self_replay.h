// Replaying a linked trace against its own measurement: every node starts as soon as its dependencies
// allow, lasts as long as it was measured to last, and the result is compared with what was measured.
// A graph that turns every wait into host time passes that too, so the replay is repeated with device
// durations halved, and the report says what the replayed critical path consists of.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

/// What a stretch of the critical path is.
enum class PathPart : uint8_t { device, constants, host_op, host_gap, sync_remainder, initial_condition, unrecorded };
inline constexpr std::array<std::string_view, 7> kPathParts{
    "device", "constants", "host_op", "host_gap", "sync_remainder", "initial_condition", "unrecorded"};

struct SelfReplay {
  struct Step {
    std::string name;
    Picoseconds measured_ps = 0;  ///< first host op's start to the end of its host ops and of the
    Picoseconds replayed_ps = 0;  ///< device operations launched in it
    double error = 0;             ///< replayed / measured - 1
  };
  /// ProfilerStep#n; else one: the linked iteration, or from the first launch to the last device end.
  std::vector<Step> steps;
  double median_error = 0;  ///< of |error| over steps
  double worst_error = 0;   ///< the step's error with the largest |error|

  // The whole file: from its first start to its last end.
  Picoseconds measured_ps = 0;
  Picoseconds replayed_ps = 0;       ///< the longest path
  Picoseconds half_device_ps = 0;    ///< the same with device durations halved
  Picoseconds half_recorded_ps = 0;  ///< the same, but device work that was not recorded takes its time
  double error = 0;                  ///< replayed / measured - 1

  std::array<double, kPathParts.size()> critical_path{};  ///< shares, sum 1
  bool informative = false;  ///< device and constants make at least 10 % of the critical path

  Picoseconds start_error_median_ps = 0, start_error_max_ps = 0;  ///< |replayed - measured| start, device
  /// Time in which a stream neither ran nor had a reason not to, of the time of all steps; of the
  /// stream where it is largest.
  double stream_stall_share = 0;
  Findings findings;  ///< sim.replay.stall; sim.replay.error: off by more than 1 %
};

/// Requires measured times, as `chakra link` writes them.
/// Errors: sim.replay.no_times, sim.replay.cycle. Cost: O(nodes + edges).
Result<SelfReplay> self_replay(const trace::Trace& trace);

}  // namespace chakra::analyze
