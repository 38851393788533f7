// The steps of a recorded rank: which nodes belong to each, so that its span can be told from any start and end times,
// measured or simulated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

struct StepSpan {
  Picoseconds begin = INT64_MAX, end = 0;
  Picoseconds length() const { return begin == INT64_MAX ? 0 : std::max<Picoseconds>(0, end - begin); }
};

/// A step begins with its host operations, and lasts until those and the device operations launched in it have ended.
struct Steps {
  static constexpr uint8_t kBegins = 1, kEnds = 2;  ///< of roles
  std::vector<std::string> names;                   ///< in the order of their starts
  std::vector<int32_t> of;                          ///< per node: into names; -1: of none
  std::vector<uint8_t> roles;                       ///< per node: whether its start and its end count
};
/// ProfilerStep#n, but those inside of another on their thread; else one: the linked iteration, or from the first
/// launch to the last device end ("recording", whose span is empty where there is no device). Requires measured times.
/// Cost: O(nodes log steps + edges).
Steps find_steps(const trace::Trace& trace);

/// From the first start to the last end of what counts; start(n), end(n) of a node. Cost: O(nodes).
template <class Start, class End>
std::vector<StepSpan> step_spans(const Steps& steps, const Start& start, const End& end) {
  std::vector<StepSpan> spans(steps.names.size());
  for (const trace::NodeId n : ids<trace::NodeId>(steps.of.size())) {
    if (steps.of[n] < 0) continue;
    StepSpan& span = spans[static_cast<size_t>(steps.of[n])];
    if (steps.roles[n] & Steps::kBegins) span.begin = std::min(span.begin, start(n));
    if (steps.roles[n] & Steps::kEnds) span.end = std::max(span.end, end(n));
  }
  return spans;
}

}  // namespace chakra::analyze
