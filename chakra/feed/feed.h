// The next nodes of a trace. A Feeder walks one trace in memory: it returns nodes with finished
// dependencies and the earliest start times, and the caller reports nodes that are done. A
// StreamFeeder (chakra/feed/stream.h) does the same for a trace that is read during the walk.
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

/// The dependencies of a trace, in both directions.
struct Graph {
  trace::Edges deps, ctrl;   ///< edges of the trace
  Column<uint32_t> missing;  ///< number of dependencies per node
  Column<uint32_t> begin;    ///< CSR: dependents of each node
  Column<trace::NodeId> waiting;
  Column<Picoseconds> lag;  ///< parallel to waiting; empty if the trace has no lags
};
/// By whether control edges gate nodes, and the identity of the edges.
using Graphs = std::map<std::tuple<bool, trace::Edges::Identity, trace::Edges::Identity>, Graph>;

class Feeder {
 public:
  /// `control`: control edges also gate nodes. `graphs`: of earlier feeders; a trace that shares its edges with
  /// an earlier one (such as a copy) reuses that graph. Cost: O(nodes + edges); with a reused graph O(nodes).
  explicit Feeder(const trace::Trace& trace, bool control = false, Graphs* graphs = nullptr);

  /// Append the nodes without dependencies, by ascending row.
  void start(std::vector<Ready>& ready);
  /// Record that `node` ended at `time`, and append the nodes that became ready,
  /// by ascending row. Requires a node that was returned and is not done.
  void done(trace::NodeId node, Picoseconds time, std::vector<Ready>& ready);

  uint32_t remaining() const { return remaining_; }
  bool is_done(trace::NodeId node) const { return missing_[node] == kDone; }
  /// Return whether all dependencies are done but the node is not: it waits for a cause outside the trace.
  bool is_ready(trace::NodeId node) const { return missing_[node] == 0; }

 private:
  static constexpr uint32_t kDone = UINT32_MAX;
  Graph graph_;
  std::vector<uint32_t> missing_;      ///< unfinished dependencies, per node
  std::vector<Picoseconds> ready_at_;  ///< of waiting nodes: earliest start so far
  uint32_t remaining_ = 0;
};

/// Reject a trace that no simulation can run. Errors: sim.trace.defect;
/// with Code::stuck sim.stuck.cycle for nodes in a cycle.
Result<void> check_defects(const trace::Trace& trace);

}  // namespace chakra::feed
