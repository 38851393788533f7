#include "chakra/coll/symmetry.h"

#include <algorithm>
#include <cmath>

#include "chakra/coll/closed.h"

namespace chakra::coll {
namespace {

bool evenly_spaced(const std::vector<int64_t>& at, int64_t ranks) {
  const auto extent = static_cast<int64_t>(at.size());
  if (extent == 0 || ranks % extent != 0) return false;
  for (int64_t i = 1; i < extent; ++i)
    if (at[static_cast<size_t>(i)] != at[0] + i * (ranks / extent)) return false;
  return true;
}

double steps(const Symmetry::Dimension& d, const Targets& t, uint32_t q) {
  return static_cast<double>(t.by(q) / d.stride);
}

}  // namespace

Symmetry::Symmetry(const Place& place) : fabric_(*place.fabric) {
  if (fabric_.graph || !fabric_.odd_links.empty()) return;
  for (const GridAxis& g : grid_of(place)) {
    const net::Dimension& d = fabric_.dimensions[g.axis];
    dimensions_.push_back({g.stride, g.extent, g.form, evenly_spaced(g.at, d.ranks), g.at[1] - g.at[0],
                           std::min(kPsPerSecond / d.bytes_per_s(), kSlowest)});
  }
}

const Symmetry::Dimension* Symmetry::turns(const Targets& t) const {
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
  if (2 * up == all && all * static_cast<double>(d.spacing) > 2 && fabric_.routing.kind != net::Routing::single)
    return {0.5, 0.5};
  return 2 * up <= all ? Crowd{1, 0} : Crowd{0, 1};
}

/// In each row of a dimension, members / extent messages go from each place to each other: the members of all places
/// inside the dimension send to all places outside it.
std::optional<double> Symmetry::exchange_ps_per_byte() const {
  if (dimensions_.empty()) return std::nullopt;
  double members = 1, longest = 0;
  for (const Dimension& d : dimensions_) members *= static_cast<double>(d.extent);
  for (const Dimension& d : dimensions_) {
    const auto extent = static_cast<double>(d.extent);
    double messages = 1;  // over the busiest link, of one from each place to each other
    switch (d.form) {
      case net::RowForm::pairs: break;
      case net::RowForm::star: messages = extent - 1; break;
      case net::RowForm::line: messages = std::floor(extent / 2) * std::ceil(extent / 2); break;
      case net::RowForm::ring: {
        if (!d.whole) return std::nullopt;
        const double up = std::floor((extent - 1) / 2), opposite = d.extent % 2 == 0 ? extent / 2 : 0;
        const bool spread = fabric_.routing.kind != net::Routing::single && fabric_.routing.kind != net::Routing::ecmp;
        messages =
            up * (up + 1) / 2 + (spread && extent * static_cast<double>(d.spacing) > 2 ? opposite / 2 : opposite);
      }
    }
    longest = later(longest, messages * members / extent * d.ps_per_byte);
  }
  return longest;
}

}  // namespace chakra::coll
