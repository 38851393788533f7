// Half of each block goes round the ring as in ring.cpp, the other half the other way round.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline bidirectional_ring(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, gathers(op.type) ? 2 : 2 * uint64_t{n});
  o.rounds = op.type == CommType::all_reduce ? 2 * (n - 1) : n - 1;
  return o;
}
void bidirectional_ring_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  const bool second = o.type == CommType::all_reduce && k >= n - 1;
  const bool reduce = !second && !gathers(o.type);
  const int64_t r = second ? k - (n - 1) : k;
  const int64_t behind = reduce ? r + 1 : r;
  for (uint32_t i = 0; i < senders; ++i) {
    moves.push_back({i, turn(i, 1, n), 2 * uint64_t{turn(i, -behind, n)}, 1, 1, reduce});
    moves.push_back({i, turn(i, -1, n), 2 * uint64_t{turn(i, behind, n)} + 1, 1, 1, reduce});
  }
}

}  // namespace chakra::coll
