// Steps of a recorded rank: the nodes of each step, to compute spans from any start and end times, measured or
// simulated.
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

/// A step begins with the first host operation, and ends when all host operations and launched device operations end.
struct Steps {
  static constexpr uint8_t kBegins = 1, kEnds = 2;  ///< of roles
  std::vector<std::string> names;                   ///< in the order of starts
  std::vector<int32_t> of;                          ///< per node: into names; -1: outside of steps
  std::vector<uint8_t> roles;                       ///< per node: whether the start and the end count
};
/// Find the steps: ProfilerStep#n, except steps nested in a step on the thread; else the runs of XLA's programs; else
/// one: the linked iteration, or from the first launch to the last device end ("recording"; empty without a device).
/// Requires measured times. Cost: O(nodes log steps + edges).
Steps find_steps(const trace::Trace& trace);

/// Return the span from the first to the last relevant time of each step; start(n), end(n) of a node. Cost: O(nodes).
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
