// Binomial trees: in each round twice as many have it.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

/// Binomial: counted from the root, v and v + 2^k are parent and child where 2^(k+1) divides v; the child's
/// subtree is v + 2^k .. v + 2^(k+1) - 1.
Outline tree(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, op.type == CommType::scatter ? n : 1);
  o.rounds = doublings(n) * (op.type == CommType::all_reduce || op.type == CommType::barrier ? 2 : 1);
  return o;
}
void tree_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const uint32_t n = o.members, levels = doublings(n);
  const bool subtree = o.type == CommType::gather || o.type == CommType::scatter;
  const bool up = o.type == CommType::reduce || o.type == CommType::gather || (o.rounds > levels && k < levels);
  const uint32_t level = up ? k : levels - 1 - (k >= levels ? k - levels : k);
  const uint32_t root = o.type == CommType::all_reduce || o.type == CommType::barrier ? 0 : o.root;
  const uint64_t distance = uint64_t{1} << level;
  for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
    const auto parent = turn(root, static_cast<int64_t>(v), n);
    const auto child = turn(root, static_cast<int64_t>(v + distance), n);
    const uint32_t from = up ? child : parent, to = up ? parent : child;
    if (subtree || (up && o.type == CommType::barrier))
      move_wrapped(moves, from, to, 0, child, static_cast<uint32_t>(std::min(distance, n - v - distance)), n);
    else moves.push_back({from, to, 0, o.units, 1, up});
  }
}

}  // namespace chakra::coll
