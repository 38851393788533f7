#include "chakra/gen/placement.h"

#include <cmath>

#include "chakra/base/real.h"

namespace chakra::gen {

Move move(Placement from, Placement to) {
  using trace::CommType;
  constexpr Move nothing{true, std::nullopt}, never{false, std::nullopt};
  constexpr std::array<std::array<Move, 3>, 3> table{{
      // to replicated, sharded, partial
      {nothing, nothing, never},                                                      // from replicated
      {Move{true, CommType::all_gather}, {true, CommType::all_to_all}, never},        // from sharded
      {Move{true, CommType::all_reduce}, {true, CommType::reduce_scatter}, nothing},  // from partial
  }};
  if (from == to) return nothing;
  return table[static_cast<size_t>(from.kind)][static_cast<size_t>(to.kind)];
}

double elements(const std::vector<Extent>& dims, const Placements& at, const Mesh& mesh) {
  double product = 1;
  for (const Extent& extent : dims) {
    double shards = 1;
    for (size_t axis = 0; axis < at.size(); ++axis)
      if (extent.dim != Dim::none && at[axis] == sharded(extent.dim)) shards *= real(mesh.size[axis]);
    const bool whole = extent.dim == Dim::kv_heads || extent.dim == Dim::vocabulary;
    const double count = extent.count / shards;
    product *= (whole ? std::ceil(count) : count) * extent.unit;
  }
  return product;
}

}  // namespace chakra::gen
