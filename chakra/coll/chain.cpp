// From member to member, the data in pieces.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline chain(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint32_t pieces = pieces_of(op.bytes, n);
  Outline o = outline_of(op, place, pieces);
  o.pieces = pieces;
  o.rounds = n < 2 ? 0 : n - 1 + pieces - 1;
  return o;
}
/// Place p of the chain passes piece k - p on in round k. Reducing, the chain ends at the root.
void chain_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const uint32_t n = o.members;
  const uint32_t last = std::min(k, n - 2);
  for (uint32_t p = k < o.pieces ? 0 : k - o.pieces + 1; p <= last; ++p) {
    if (o.type == CommType::reduce)
      moves.push_back({turn(o.root, int64_t{p} + 1, n), turn(o.root, int64_t{p} + 2, n), k - p, 1, 1, true});
    else moves.push_back({turn(o.root, p, n), turn(o.root, int64_t{p} + 1, n), k - p, 1, 1, false});
  }
}

}  // namespace chakra::coll
