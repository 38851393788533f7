#include "chakra/coll/symmetry.h"

#include <algorithm>

#include "chakra/coll/closed.h"

namespace chakra::coll {
namespace {

/// Coordinates in a dimension, in the order of members that differ in this dimension only.
std::vector<int64_t> coordinates(const Place& place, uint64_t stride, int64_t inner, int64_t ranks) {
  std::vector<int64_t> at;
  for (uint64_t i = 0; i < place.ranks.size(); i += stride) {
    const int64_t c = place.ranks[i] / inner % ranks;
    if (!at.empty() && c == at[0]) break;
    at.push_back(c);
  }
  return at;
}

bool evenly_spaced(const std::vector<int64_t>& at, int64_t ranks) {
  const auto extent = static_cast<int64_t>(at.size());
  if (extent == 0 || ranks % extent != 0) return false;
  for (int64_t i = 1; i < extent; ++i)
    if (at[static_cast<size_t>(i)] != at[0] + i * (ranks / extent)) return false;
  return true;
}

int64_t spacing(const Symmetry::Dimension& d) { return d.at.size() > 1 ? d.at[1] - d.at[0] : 1; }
double steps(const Symmetry::Dimension& d, const Targets& t, uint32_t q) {
  return static_cast<double>(t.by(q) / d.stride);
}

}  // namespace

Symmetry::Symmetry(const Place& place) : fabric_(*place.fabric) {
  int64_t inner = 1;
  uint64_t stride = 1;
  for (const net::Dimension& d : fabric_.dimensions) {
    std::vector<int64_t> at = coordinates(place, stride, inner, d.ranks);
    const auto extent = static_cast<uint64_t>(at.size());
    const double ps_per_byte = std::min(kPsPerSecond / d.bytes_per_s(), kSlowest);
    const bool whole = evenly_spaced(at, d.ranks);
    if (extent > 1)
      dimensions_.push_back({stride, extent, d.topology().form, whole, inner, ps_per_byte, std::move(at)});
    stride *= extent;
    inner *= d.ranks;
  }
  grid_ = stride == place.ranks.size() && fabric_.odd_links.empty() && !fabric_.graph;
  grid_ = grid_ && fills_in_order(place);
}

/// Whether the members are all places of the grid, the first dimension's fastest.
bool Symmetry::fills_in_order(const Place& place) const {
  std::vector<size_t> at(dimensions_.size(), 0);
  int64_t expected = place.ranks.empty() ? 0 : place.ranks[0];
  for (const int64_t rank : place.ranks) {
    if (rank != expected) return false;
    for (size_t k = 0; k < at.size(); ++k) {
      const Dimension& d = dimensions_[k];
      const size_t before = at[k];
      at[k] = before + 1 < d.at.size() ? before + 1 : 0;
      expected += (d.at[at[k]] - d.at[before]) * d.inner;
      if (at[k] > 0) break;
    }
  }
  return true;
}

const Symmetry::Dimension* Symmetry::turns(const Targets& t) const {
  if (!grid_) return nullptr;
  const uint64_t reach = t.block();
  for (const Dimension& d : dimensions_) {
    if (t.stride % d.stride != 0 || d.stride * d.extent % reach != 0) continue;
    // All within this dimension. Round a ring, by turning it, or by swapping with the opposite place.
    if (d.equidistant()) return &d;
    const bool round = d.form == net::RowForm::ring, swapping = t.extent == 2 && t.shifts == 1;
    if (!round || !d.whole || !(d.turned_by(t) || swapping)) return nullptr;
    // Opposite places have two ways; a hash sends each member its own.
    return fabric_.routing.kind == net::Routing::ecmp && d.extent % 2 == 0 ? nullptr : &d;
  }
  return nullptr;
}

Symmetry::Crowd Symmetry::crowd(const Dimension& d, const Targets& t) const {
  if (d.form == net::RowForm::star) return {static_cast<double>(t.shifts), static_cast<double>(t.shifts)};
  if (d.form == net::RowForm::pairs) return {1, 1};
  Crowd crowd;
  for (uint32_t q = 0; q < t.shifts; ++q) {
    const Crowd share = ways(d, t, q);
    const double up = steps(d, t, q), down = static_cast<double>(d.extent) - up;
    crowd.up += share.up * up;
    crowd.down += share.down * down;
  }
  return !d.turned_by(t) ? Crowd{crowd.up + crowd.down, crowd.up + crowd.down} : crowd;
}

Symmetry::Crowd Symmetry::ways(const Dimension& d, const Targets& t, uint32_t q) const {
  if (d.equidistant()) return {1, 0};
  const double up = steps(d, t, q), all = static_cast<double>(d.extent);
  if (2 * up == all && all * static_cast<double>(spacing(d)) > 2 && fabric_.routing.kind != net::Routing::single)
    return {0.5, 0.5};
  return 2 * up <= all ? Crowd{1, 0} : Crowd{0, 1};
}

}  // namespace chakra::coll
