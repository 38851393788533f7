// The placement of a tensor on a mesh, axis by axis, and the collective that turns one
// placement into another. All communication of a step inside a stage follows from this table.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <vector>

#include "chakra/gen/mesh.h"
#include "chakra/model/blocks.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

using model::Dim, model::Extent;

/// The placement on one axis: every rank has all of a tensor, a part along a dimension, or a term of a sum.
struct Placement {
  enum class Kind : uint8_t { replicated, sharded, partial } kind = Kind::replicated;
  Dim dim = Dim::none;
  auto operator<=>(const Placement&) const = default;
};
inline constexpr Placement kReplicated{}, kPartial{Placement::Kind::partial, Dim::none};
constexpr Placement sharded(Dim dim) { return {Placement::Kind::sharded, dim}; }

/// The placement on each axis of a stage. A tensor of the experts is replicated on
/// tp, cp and dp, all other tensors on etp, ep and edp: those axes are ignored.
using Placements = std::array<Placement, 6>;

struct Move {
  bool possible;
  std::optional<trace::CommType> collective;  ///< empty: each rank already has its data
};
/// Return how to turn one placement of a tensor on an axis into another.
Move move(Placement from, Placement to);

/// Return the elements that a rank has of a tensor with these dimensions. Key/value
/// heads and the vocabulary are rounded up, so surplus is possible.
double elements(const std::vector<Extent>& dims, const Placements& at, const Mesh& mesh);

}  // namespace chakra::gen
