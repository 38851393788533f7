// The in-order binary tree over places 0 .. n-1, and the step in which a pipeline's first piece passes each edge.
#pragma once

#include "chakra/coll/algorithms.h"

namespace chakra::coll {

/// Return the parent of v > 0. The height of v is the number of trailing zeros; 0 is the
/// root and has one child. An ancestor that is not below n is skipped. Cost: O(log n).
uint32_t parent_in_order(uint32_t v, uint32_t n);

/// Set `start` of each edge, parents first, to the first step of the edge's colour after the
/// parent has the piece. `colour` decides in which of two alternating steps a child receives.
template <class Colour>
uint32_t start_edges(uint32_t n, uint32_t first, std::vector<TreeEdge>& edges, const Colour& colour) {
  uint32_t last = 0;
  for (uint32_t level = doublings(n); level-- > 0;)
    for (uint64_t v = uint64_t{1} << level; v < n; v += uint64_t{2} << level) {
      const auto place = static_cast<uint32_t>(v);
      const uint32_t parent = parent_in_order(place, n);
      const uint32_t free = parent == 0 ? 0 : edges[first + parent - 1].start + 1;
      TreeEdge& edge = edges[first + place - 1];
      edge.start = free + (free % 2 != colour(place, free) ? 1 : 0);
      last = std::max(last, edge.start);
    }
  return last;
}

}  // namespace chakra::coll
