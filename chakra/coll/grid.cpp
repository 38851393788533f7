// The grid of places that members fill.
#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

/// Places along an axis, in the order of members that differ along it alone.
std::vector<int64_t> places_along(const net::Axis& axis, std::span<const int64_t> ranks, uint64_t stride) {
  std::vector<int64_t> at;
  for (uint64_t i = 0; i < ranks.size(); i += stride) {
    const int64_t place = axis.of(ranks[i]);
    if (!at.empty() && place == at[0]) break;
    at.push_back(place);
  }
  return at;
}

/// All coordinates of ranks as one number each: the rank itself, where no axis has a table.
class Codes {
 public:
  explicit Codes(const std::vector<net::Axis>& axes) : axes_(axes) {
    for (const net::Axis& axis : axes) tables_ = tables_ || axis.table;
  }
  int64_t operator()(int64_t rank) const {
    if (!tables_) return rank;
    int64_t code = 0;
    for (const net::Axis& axis : axes_) code += axis.of(rank) * axis.inner;
    return code;
  }

 private:
  const std::vector<net::Axis>& axes_;
  bool tables_ = false;
};

/// Whether the members are all places of the grid, the first axis' fastest.
bool fills_in_order(const Grid& grid, const std::vector<net::Axis>& axes, std::span<const int64_t> ranks) {
  const Codes code(axes);
  std::vector<size_t> at(grid.size(), 0);
  int64_t expected = code(ranks[0]);
  for (const int64_t rank : ranks) {
    if (code(rank) != expected) return false;
    for (size_t k = 0; k < at.size(); ++k) {
      const GridAxis& g = grid[k];
      const size_t before = at[k];
      at[k] = before + 1 < g.at.size() ? before + 1 : 0;
      expected += (g.at[at[k]] - g.at[before]) * axes[g.axis].inner;
      if (at[k] > 0) break;
    }
  }
  return true;
}

}  // namespace

Grid grid_of(const Place& place) {
  if (place.grid) return *place.grid;
  if (!place.fabric || place.ranks.size() < 2) return {};
  const std::vector<net::Axis> axes = place.fabric->axes();
  Grid grid;
  uint64_t stride = 1;
  for (size_t a = 0; a < axes.size() && stride < place.ranks.size(); ++a) {
    std::vector<int64_t> at = places_along(axes[a], place.ranks, stride);
    const auto extent = static_cast<uint32_t>(at.size());
    if (extent > 1) grid.push_back({a, axes[a].form, static_cast<uint32_t>(stride), extent, std::move(at)});
    stride *= extent;
  }
  if (stride != place.ranks.size() || !fills_in_order(grid, axes, place.ranks)) return {};
  return grid;
}

}  // namespace chakra::coll
