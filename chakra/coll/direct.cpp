// Each member sends to all others at once.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline direct(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : n);
  o.rounds = n < 2 ? 0 : op.type == CommType::all_reduce ? 2 : 1;
  return o;
}
void direct_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i)
    for (uint32_t q = 1; q < n; ++q) {
      const uint32_t to = turn(i, q, n);
      if (o.type == CommType::all_to_all) moves.push_back({i, to, uint64_t{i} * n + to, 1, 1, false});
      else if (k > 0 || gathers(o.type)) moves.push_back({i, to, i, 1, 1, false});
      else moves.push_back({i, to, to, 1, 1, true});
    }
}

}  // namespace chakra::coll
