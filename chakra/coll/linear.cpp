// The root with one member after the other.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline linear(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : place.members());
  o.rounds = o.members - 1;
  return o;
}
void linear_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const uint32_t other = turn(o.root, int64_t{k} + 1, o.members);
  if (gathers(o.type)) moves.push_back({other, o.root, other, 1, 1, false});
  else moves.push_back({o.root, other, other, 1, 1, false});
}

}  // namespace chakra::coll
