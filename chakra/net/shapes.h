// The parts from which shapes build whole networks.
#pragma once

#include <string>
#include <vector>

#include "chakra/net/axes.h"
#include "chakra/net/graph.h"

namespace chakra::net {

struct ShapeBuilder {
  struct CableKind {
    double bytes_per_s = 0;  ///< each way
    Picoseconds latency_ps = 0;
  };

  Graph& graph;  ///< already has the ranks
  std::vector<CableKind> kinds;
  std::vector<size_t> switch_kinds = {};  ///< of the switches added so far

  /// Return the new device. Names are unique, and not whole numbers.
  uint32_t add_switch(std::string name, size_t kind);
  /// Add an axis. Ranks are numbered along earlier axes first.
  void axis(int64_t extent, RowForm form) { add_axis(graph.axes, extent, form); }
  /// Join two devices both ways; Routing::single prefers the cable added first.
  void cable(uint32_t a, uint32_t b, size_t kind);
};

}  // namespace chakra::net
