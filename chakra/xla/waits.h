// The edges of a device with measured times. An edge never leads back in time, so a trace has no cycle, whatever times
// the file states. Inside the room.
#pragma once

#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::xla {

class Waits {
 public:
  void add(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind) { edges_.push_back({node, on, kind, maybe}); }
  bool maybe = false;  ///< nodes wait for some of their edges: those that lead to a later start are not counted
  /// Put a node on a stream or a thread, which runs one node after the other. A node of a thread waits for the previous
  /// one only if that has ended: nodes of loops are around others.
  void on_stream(trace::NodeId node, uint32_t stream) { places_.push_back({node, stream}); }

  /// Add these edges and the edges of the streams to the builder. Requires nodes with times. Return the number of edges
  /// that were left out, since the node starts before the node that it would wait for. `threads`: of a CPU.
  uint64_t write(trace::Builder& builder, bool threads);

 private:
  struct Edge {
    trace::NodeId node, on;
    trace::EdgeKind kind = trace::EdgeKind::data;
    bool maybe = false;
  };
  struct Place {
    trace::NodeId node;
    uint32_t stream = 0;
  };
  std::vector<Edge> edges_;
  std::vector<Place> places_;
};

}  // namespace chakra::xla
