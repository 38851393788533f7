// Two trees, each with half of the buffer, such that a member inside one is a leaf of the other; the edges have two
// colours such that no member receives twice or sends twice in a step (Sanders, Speck, Traeff 2009).
#include "chakra/coll/rows.h"
#include "chakra/coll/tree_in_order.h"

namespace chakra::coll {

Outline double_binary_tree(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint32_t pieces = pieces_of(op.bytes / 2, n);
  Outline o = outline_of(op, place, 2 * uint64_t{pieces});
  o.pieces = pieces;
  if (n < 2) return o;
  const auto member = [n](uint32_t tree, uint32_t v) { return tree == 0 ? v : n % 2 ? (v + 1) % n : n - 1 - v; };
  const auto place_of = [n](uint32_t tree, uint32_t i) { return tree == 0 ? i : n % 2 ? (i + n - 1) % n : n - 1 - i; };
  o.edges.resize(2 * (size_t{n} - 1));
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> sibling(o.edges.size(), kNone), child(n, kNone);
  for (uint32_t t = 0; t < 2; ++t)
    for (uint32_t v = 1; v < n; ++v) {
      const uint32_t parent = parent_in_order(v, n), edge = t * (n - 1) + v - 1;
      o.edges[edge] = {member(t, parent), member(t, v), t, 0};
      uint32_t& other = child[o.edges[edge].parent];  // no member has more than two, in both trees together
      if (other != kNone) {
        sibling[edge] = other;
        sibling[other] = edge;
      }
      other = edge;
    }
  // Each edge must differ from its sibling and from the edge that its child has in the other tree: chains and
  // even cycles, coloured by walking them.
  const auto twin = [&](uint32_t edge) {
    const uint32_t t = 1 - o.edges[edge].tree, v = place_of(t, o.edges[edge].child);
    return v == 0 ? kNone : t * (n - 1) + v - 1;
  };
  std::vector<uint8_t> colour(o.edges.size(), 2);
  for (uint32_t begin = 0; begin < o.edges.size(); ++begin) {
    if (colour[begin] != 2) continue;
    colour[begin] = 0;
    for (const bool by_sibling : {true, false}) {
      bool next_is_sibling = by_sibling;
      for (uint32_t at = begin;;) {
        const uint32_t next = next_is_sibling ? sibling[at] : twin(at);
        if (next == kNone || colour[next] != 2) break;
        colour[next] = static_cast<uint8_t>(1 - colour[at]);
        at = next;
        next_is_sibling = !next_is_sibling;
      }
    }
  }
  uint32_t last = 0;
  for (uint32_t t = 0; t < 2; ++t) {
    const uint32_t first = t * (n - 1);
    last = std::max(
        last, start_edges(n, first, o.edges, [&](uint32_t v, uint32_t) { return uint32_t{colour[first + v - 1]}; }));
  }
  o.steps = last + 2 * (pieces - 1) + 1;
  o.rounds = 2 * o.steps;
  return o;
}

}  // namespace chakra::coll
