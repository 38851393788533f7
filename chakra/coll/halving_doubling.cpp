// Half of the rest goes to partners 1, 2, 4, ... away, and comes back.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {
namespace {

/// The largest power of two p <= n takes part. The first 2 (n - p) members are pairs: the odd one gives what it
/// has to the even one before, and gets the result from it after (Rabenseifner 2004). Of those that take part
/// number w stands for members 2w and 2w + 1 where w < n - p, otherwise for w + n - p.
struct Folding {
  uint32_t n, power, extra;
  explicit Folding(uint32_t members) : n(members), power(std::bit_floor(members)), extra(members - power) {}
  uint32_t member(uint32_t w) const { return w < extra ? 2 * w : w + extra; }
};

/// The odd member of each pair gives.
void fold_in(const Outline& o, const Folding& fold, Moves& moves) {
  for (uint32_t w = 0; w < fold.extra; ++w)
    if (gathers(o.type)) moves.push_back({2 * w + 1, 2 * w, 2 * w + 1, 1, 1, false});
    else moves.push_back({2 * w + 1, 2 * w, 0, o.units, 1, true});
}

/// The odd member of each pair gets the result.
void fold_out(const Outline& o, const Folding& fold, Moves& moves) {
  for (uint32_t w = 0; w < fold.extra; ++w) {
    const uint32_t even = 2 * w, odd = 2 * w + 1;
    if (scatters_sum(o.type)) {
      moves.push_back({even, odd, odd, 1, 1, false});
    } else if (gathers(o.type)) {
      moves.push_back({even, odd, 0, odd, 1, false});
      if (odd + 1 < fold.n) moves.push_back({even, odd, odd + 1, fold.n - odd - 1, 1, false});
    } else {
      moves.push_back({even, odd, 0, o.units, 1, false});
    }
  }
}

}  // namespace

Outline halving_doubling(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const Folding fold(n);
  Outline o = outline_of(op, place, op.type == CommType::all_reduce ? fold.power : gathers(op.type) ? 1 : n);
  const uint32_t halvings = doublings(fold.power);
  o.rounds = (op.type == CommType::all_reduce ? 2 : 1) * halvings + (fold.extra ? 2 : 0);
  return o;
}
/// Halving: in round k number w keeps the blocks of those whose lowest k + 1 bits are its own and gives its
/// partner w xor 2^k those of the partner. Doubling is that backwards.
void halving_doubling_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const Folding fold(o.members);
  const bool owners = o.type != CommType::all_reduce;  // block i is member i's
  if (fold.extra > 0) {
    if (k == 0) return fold_in(o, fold, moves);
    if (k + 1 == o.rounds) return fold_out(o, fold, moves);
    --k;
  }
  const uint32_t halvings = doublings(fold.power);
  const bool doubling = gathers(o.type) || k >= halvings;
  const uint32_t level = gathers(o.type) ? halvings - 1 - k : k < halvings ? k : 2 * halvings - 1 - k;
  const uint32_t distance = 1u << level, modulus = 2 * distance;
  if (fold.extra == 0) {
    head.stride = distance;
    head.extent = 2;
  }
  const uint32_t numbers = fold.extra == 0 ? senders : fold.power;
  for (uint32_t w = 0; w < numbers; ++w) {
    const uint32_t from = fold.member(w), to = fold.member(w ^ distance);
    const uint32_t first = (doubling ? w : w ^ distance) & (modulus - 1);
    if (!owners || fold.extra == 0) {
      moves.push_back({from, to, first, fold.power / modulus, modulus, !doubling});
      continue;
    }
    const uint32_t pairs = first < fold.extra ? (fold.extra - first - 1) / modulus + 1 : 0;
    const uint32_t singles = fold.power / modulus - pairs;
    if (pairs > 0)
      for (const uint32_t half : {0u, 1u})
        moves.push_back({from, to, 2 * uint64_t{first} + half, pairs, 2 * uint64_t{modulus}, !doubling});
    if (singles > 0)
      moves.push_back(
          {from, to, uint64_t{first} + uint64_t{pairs} * modulus + fold.extra, singles, modulus, !doubling});
  }
}

}  // namespace chakra::coll
