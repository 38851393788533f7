// In round k each member sends to the one k places on.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline pairwise(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, place.members());
  o.rounds = o.members - 1;
  return o;
}
void pairwise_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i) {
    const uint32_t to = turn(i, int64_t{k} + 1, n);
    moves.push_back({i, to, uint64_t{i} * n + to, 1, 1, false});
  }
}

}  // namespace chakra::coll
