// Where a tensor is on a mesh, axis by axis, and which collective brings it from one place to another. Everything that
// a step communicates inside a stage follows from this table.
#pragma once

#include <array>
#include <compare>
#include <optional>

#include "chakra/gen/mesh.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

/// What a dimension of a tensor counts.
enum class Dim : uint8_t {
  none,
  batch,       ///< sequences of a micro-batch, of all dp ranks
  sequence,    ///< tokens
  hidden,      ///< width of the model
  heads,       ///< of queries, and of attention's output
  kv_heads,    ///< of keys and values
  latent,      ///< width of what is between the two matrices of a latent projection
  inner,       ///< width between the matrices of an MLP
  vocabulary,  ///< different tokens
  experts,     ///< of a layer
  tables,      ///< of a recommender
  slots        ///< of an expert: tokens that it takes
};

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

}  // namespace chakra::gen
