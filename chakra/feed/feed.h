// Which node may run next. A Feeder walks one trace that is in memory: it hands out nodes whose dependencies
// are done, with the time from which they may start, and is told when nodes are done. A StreamFeeder
// (chakra/feed/stream.h) does so for a trace that is read while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/feed/queues.h"  // IWYU pragma: export
#include "chakra/feed/stream.h"  // IWYU pragma: export
#include "chakra/trace/trace.h"

namespace chakra::feed {

struct Ready {
  trace::NodeId node{0};
  Picoseconds time = 0;  ///< latest end of a dependency plus its edge's lag; 0 without dependencies
};

/// Who waits for whom in a trace.
struct Graph {
  trace::Edges deps, ctrl;   ///< those of the trace
  Column<uint32_t> missing;  ///< how many nodes each waits for
  Column<uint32_t> begin;    ///< CSR: who waits for each node
  Column<trace::NodeId> waiting;
  Column<Picoseconds> lag;  ///< parallel to waiting; empty where the trace has none
};
/// By whether control edges gate, and the edges' identity.
using Graphs = std::map<std::tuple<bool, trace::Edges::Identity, trace::Edges::Identity>, Graph>;

class Feeder {
 public:
  /// `control`: control edges also gate nodes. `graphs`: of the feeders made before; a trace that shares its edges with
  /// one of theirs (a copy does) takes the graph from there. Cost: O(nodes + edges); with a graph from there O(nodes).
  explicit Feeder(const trace::Trace& trace, bool control = false, Graphs* graphs = nullptr);

  /// Appends the nodes that wait for nothing, by ascending row.
  void start(std::vector<Ready>& ready);
  /// `node` ended at `time`: appends the nodes that this made ready, by ascending row. Requires a node that was handed
  /// out and is not done.
  void done(trace::NodeId node, Picoseconds time, std::vector<Ready>& ready);

  uint32_t remaining() const { return remaining_; }
  bool is_done(trace::NodeId node) const { return missing_[node] == kDone; }
  /// Nodes whose dependencies are done but which are not: they wait for something outside the trace.
  bool is_ready(trace::NodeId node) const { return missing_[node] == 0; }

 private:
  static constexpr uint32_t kDone = UINT32_MAX;
  Graph graph_;
  std::vector<uint32_t> missing_;      ///< dependencies not done yet, per node
  std::vector<Picoseconds> ready_at_;  ///< of those that still wait: from when they may start
  uint32_t remaining_ = 0;
};

/// Refuses a trace that no simulation can run. Errors: sim.trace.defect; with Code::stuck sim.stuck.cycle for a node
/// that waits for itself.
Result<void> check_defects(const trace::Trace& trace);

}  // namespace chakra::feed
