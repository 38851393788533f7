// Arithmetic on the ranks, links, switches and rows of a fabric of dimensions.
#pragma once

#include <cstdint>

#include "chakra/net/net.h"

namespace chakra::net {

/// A dimension within its fabric: rows, links and switches follow those of the dimensions before.
struct Level {
  const Dimension* dimension;
  int64_t ranks;   ///< in a row
  int64_t stride;  ///< between neighbouring ranks of a row
  int64_t rows;
  int64_t links;  ///< of a row
  int64_t first_link;
  int64_t first_switch;
  int64_t switches;  ///< one per row, or 0

  const TopologyRow& topology() const { return dimension->topology(); }
  int64_t row_of(int64_t rank) const { return rank % stride + rank / (stride * ranks) * stride; }
  int64_t place_of(int64_t rank) const { return rank / stride % ranks; }
  int64_t rank_at(int64_t row, int64_t place) const {
    return row % stride + place * stride + row / stride * stride * ranks;
  }
  int64_t device_at(int64_t row, int64_t place) const {
    return place == ranks ? first_switch + row : rank_at(row, place);
  }
  LinkId link_at(int64_t row, int64_t link) const { return static_cast<LinkId>(first_link + row * links + link); }
};

/// Call use(level) for each dimension of more than one rank, inner first, until use() returns true.
template <class Use>
void for_each_level(const Fabric& fabric, const Use& use) {
  const int64_t size = fabric.size();
  int64_t stride = 1, first_link = 0, first_switch = size;
  for (const Dimension& d : fabric.dimensions) {
    if (d.ranks == 1) continue;
    const TopologyRow& topology = d.topology();
    const int64_t rows = size / d.ranks, links = topology.links(d.ranks), switches = topology.has_switch() ? rows : 0;
    if (use(Level{&d, d.ranks, stride, rows, links, first_link, first_switch, switches})) return;
    first_link += rows * links;
    first_switch += switches;
    stride *= d.ranks;
  }
}

/// Call use(level, row, a, b) for each dimension in which a path moves, from place a to place b of a row.
template <class Use>
void for_each_leg(const Fabric& fabric, int64_t from, int64_t to, const Use& use) {
  int64_t at = from;
  for_each_level(fabric, [&](const Level& level) {
    const int64_t a = level.place_of(at), b = level.place_of(to);
    if (a != b) use(level, level.row_of(at), a, b);
    at += (b - a) * level.stride;
    return at == to;
  });
}

/// Call use(link) for each link of a row from place a to place b.
template <class Use>
void walk(const Level& level, int64_t row, int64_t a, int64_t b, const Use& use) {
  const TopologyRow& topology = level.topology();
  for (int64_t at = a; at != b;) {
    const int64_t next = topology.next(at, b, level.ranks);
    use(level.link_at(row, topology.between(at, next, level.ranks)));
    at = next;
  }
}

/// In a ring of more than two ranks, opposite places have two routes of equal length.
inline bool may_have_two_ways(const Dimension& d) {
  return d.ranks > 2 && d.ranks % 2 == 0 && d.topology().form == RowForm::ring;
}
inline bool has_two_ways(const Level& level, int64_t a, int64_t b) {
  return may_have_two_ways(*level.dimension) && (a > b ? a - b : b - a) * 2 == level.ranks;
}
/// Like walk(), but downwards.
template <class Use>
void walk_down(const Level& level, int64_t row, int64_t a, int64_t b, const Use& use) {
  for (int64_t at = a; at != b;) {
    const int64_t next = at == 0 ? level.ranks - 1 : at - 1;
    use(level.link_at(row, level.topology().between(at, next, level.ranks)));
    at = next;
  }
}

}  // namespace chakra::net
