// Which node may run next. A Feeder walks one trace that is in memory: it hands out nodes whose dependencies
// are done, with the time from which they may start, and is told when nodes are done. A StreamFeeder
// (chakra/feed/stream.h) does so for a trace that is read while it runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/feed/stream.h"  // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::feed {

struct Ready {
  trace::NodeId node = 0;
  Picoseconds time = 0;  ///< latest end of a dependency plus its edge's lag; 0 without dependencies
};

class Feeder {
 public:
  /// `trace` must outlive the feeder. `control`: control edges also gate nodes.
  explicit Feeder(const trace::Trace& trace, bool control = false);

  /// Appends the nodes that wait for nothing, by ascending row.
  void start(std::vector<Ready>& ready);
  /// `node` ended at `time`: appends the nodes that this made ready, by ascending row. Requires a node that was handed
  /// out and is not done.
  void done(trace::NodeId node, Picoseconds time, std::vector<Ready>& ready);

  trace::NodeId remaining() const { return remaining_; }
  bool is_done(trace::NodeId node) const { return missing_[node] == kDone; }
  /// Nodes whose dependencies are done but which are not: they wait for something outside the trace.
  bool is_ready(trace::NodeId node) const { return missing_[node] == 0; }

 private:
  static constexpr uint32_t kDone = UINT32_MAX;

  std::vector<uint32_t> missing_;  ///< dependencies not done yet, per node
  std::vector<Picoseconds> ready_at_;
  std::vector<uint32_t> begin_;  ///< CSR: who waits for each node
  std::vector<trace::NodeId> waiting_;
  std::vector<Picoseconds> lags_;  ///< parallel to waiting_; empty where the trace has none
  trace::NodeId remaining_ = 0;
};

/// Refuses a trace that no simulation can run. Errors: sim.trace.defect; with Code::stuck sim.stuck.cycle for a node
/// that waits for itself.
Result<void> check_defects(const trace::Trace& trace);

}  // namespace chakra::feed
