// What whole networks are built from.
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

  Graph& graph;  ///< has its ranks
  std::vector<CableKind> kinds;
  std::vector<size_t> switch_kinds = {};  ///< of the switches added so far

  /// Returns the device. Names are unique, and not whole numbers.
  uint32_t add_switch(std::string name, size_t kind);
  /// Ranks are numbered along it, inside those that follow.
  void axis(int64_t extent, RowForm form) { add_axis(graph.axes, extent, form); }
  /// Joins two devices both ways; the first cable comes first for Routing::single.
  void cable(uint32_t a, uint32_t b, size_t kind);
};

}  // namespace chakra::net
