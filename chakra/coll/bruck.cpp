// What has to go on goes 1, 2, 4, ... places on (Bruck et al. 1997).
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline bruck(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : place.members());
  o.rounds = doublings(o.members);
  return o;
}
/// All-to-all: what is j places from its destination goes 2^k places on in round k where bit k of j is set.
/// All-gather: member i has blocks i .. i + 2^k - 1 and passes them back 2^k places.
void bruck_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members, distance = 1u << k;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i) {
    if (gathers(o.type)) {
      const DoublingStep step = doubling_step(i, k, n, false);
      move_wrapped(moves, i, step.to, 0, step.first, step.count, n);
      continue;
    }
    const uint32_t to = turn(i, distance, n);
    for (uint32_t j = distance; j < n; j = (j + 1) | distance) {
      const uint32_t origin = turn(i, -int64_t{j & (distance - 1)}, n);
      moves.push_back({i, to, uint64_t{origin} * n + turn(origin, j, n), 1, 1, false});
    }
  }
}

}  // namespace chakra::coll
