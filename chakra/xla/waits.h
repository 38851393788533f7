// The edges of a device with measured times: none leads back in time, so a trace has no cycle whatever the file says.
// Inside the room.
#pragma once

#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::xla {

class Waits {
 public:
  void add(trace::NodeId node, trace::NodeId on, trace::EdgeKind kind) { edges_.push_back({node, on, kind}); }
  /// Put a node on a stream, which runs one node after the other.
  void on_stream(trace::NodeId node, uint32_t stream) { places_.push_back({node, stream}); }

  /// Add the edges to the builder, whose nodes have times, and those of the streams. Return how many edges were left
  /// out because the node starts before the one that it would wait for.
  uint64_t write(trace::Builder& builder);

 private:
  struct Edge {
    trace::NodeId node, on;
    trace::EdgeKind kind = trace::EdgeKind::data;
  };
  struct Place {
    trace::NodeId node;
    uint32_t stream = 0;
  };
  std::vector<Edge> edges_;
  std::vector<Place> places_;
};

}  // namespace chakra::xla
