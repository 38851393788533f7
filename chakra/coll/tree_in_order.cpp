// Pipelined trees: piece j comes down an edge in step start + 2 j; upwards it is that backwards.
#include "chakra/coll/tree_in_order.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

uint32_t parent_in_order(uint32_t v, uint32_t n) {
  uint64_t at = v;
  do {
    const uint64_t low = at & (~at + 1);
    if (at == low && 2 * low >= n) return 0;
    at = at & (2 * low) ? at - low : at + low;
  } while (at >= n);
  return static_cast<uint32_t>(at);
}

void pipelined_tree_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const bool up = o.type == CommType::reduce || (o.type == CommType::all_reduce && k < o.steps);
  const uint32_t step = up ? o.steps - 1 - k : k >= o.steps ? k - o.steps : k;
  for (const TreeEdge& e : o.edges) {
    if (step < e.start || (step - e.start) % 2 || (step - e.start) / 2 >= o.pieces) continue;
    const uint64_t piece = uint64_t{e.tree} * o.pieces + (step - e.start) / 2;
    if (up) moves.push_back({e.child, e.parent, piece, 1, 1, true});
    else moves.push_back({e.parent, e.child, piece, 1, 1, false});
  }
}

}  // namespace chakra::coll
