// Where a tensor is on a mesh, axis by axis, and which collective brings it from one place to another. Everything that
// a step communicates inside a stage follows from this table.
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

/// On one axis: every rank has all of it, a part of it along a dimension, or a term of a sum.
struct Placement {
  enum class Kind : uint8_t { replicated, sharded, partial } kind = Kind::replicated;
  Dim dim = Dim::none;
  auto operator<=>(const Placement&) const = default;
};
inline constexpr Placement kReplicated{}, kPartial{Placement::Kind::partial, Dim::none};
constexpr Placement sharded(Dim dim) { return {Placement::Kind::sharded, dim}; }

/// On each axis of a stage. A tensor of the experts is replicated on tp, cp and dp, and the others on etp, ep and edp:
/// they are not counted there.
using Placements = std::array<Placement, 6>;

struct Move {
  bool possible;
  std::optional<trace::CommType> collective;  ///< none: each rank has what it needs
};
/// What brings a tensor from one placement on an axis to another.
Move move(Placement from, Placement to);

/// Elements that a rank has of a tensor with these dimensions. Heads of keys and values and the vocabulary are rounded
/// up, so there may be surplus.
double elements(const std::vector<Extent>& dims, const Placements& at, const Mesh& mesh);

}  // namespace chakra::gen
