// Round the ring: each member passes blocks on to the next one.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

Outline ring(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : n);
  o.rounds = op.type == CommType::all_reduce ? 2 * (n - 1) : n - 1;
  return o;
}
/// In round k member i passes on block i - k - 1, so that block i ends complete at member i; then block i - k.
/// All-to-all: all blocks go round the same way; each round drops those that have arrived.
void ring_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  const bool second = o.type == CommType::all_reduce && k >= n - 1;
  const int64_t r = second ? k - (n - 1) : k;
  for (uint32_t i = 0; i < senders; ++i) {
    const uint32_t to = turn(i, 1, n);
    if (o.type == CommType::all_to_all) {
      const uint32_t origin = turn(i, -r, n);
      move_wrapped(moves, i, to, uint64_t{origin} * n, turn(origin, r + 1, n), n - 1 - k, n);
    } else if (second || gathers(o.type)) {
      moves.push_back({i, to, turn(i, -r, n), 1, 1, false});
    } else {
      moves.push_back({i, to, turn(i, -r - 1, n), 1, 1, true});
    }
  }
}

}  // namespace chakra::coll
