// The news goes 1, 2, 4, ... places on.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline dissemination(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, 1);
  o.rounds = doublings(o.members);
  return o;
}
/// In round k a member knows of itself and the 2^k - 1 before it.
void dissemination_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members, distance = 1u << k;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i)
    move_wrapped(moves, i, turn(i, distance, n), 0, turn(i, 1 - int64_t{distance}, n), distance, n);
}

}  // namespace chakra::coll
