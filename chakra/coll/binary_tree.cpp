// One tree, the whole buffer in pieces; a parent serves its two children in turns.
#include "chakra/coll/rows.h"
#include "chakra/coll/tree_in_order.h"

namespace chakra::coll {

Outline binary_tree(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint32_t pieces = pieces_of(op.bytes, n);
  Outline o = outline_of(op, place, pieces);
  o.pieces = pieces;
  if (n < 2) return o;
  o.edges.resize(n - 1);
  for (uint32_t v = 1; v < n; ++v)
    o.edges[v - 1] = {turn(op.root, parent_in_order(v, n), n), turn(op.root, v, n), 0, 0};
  const uint32_t last = start_edges(n, 0, o.edges, [&](uint32_t v, uint32_t free) {
    const uint32_t parent = parent_in_order(v, n);
    return v < parent || parent == 0 ? free % 2 : (free + 1) % 2;  // the left child first
  });
  o.steps = last + 2 * (pieces - 1) + 1;
  o.rounds = o.steps;
  return o;
}

}  // namespace chakra::coll
