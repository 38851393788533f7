// The placement of a tensor on a mesh, axis by axis, and the collective that turns one
// placement into another. All communication of a step inside a stage follows from this table.
#pragma once

#include <array>
#include <compare>
#include <optional>

#include "chakra/gen/mesh.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

/// The meaning of a dimension of a tensor.
enum class Dim : uint8_t {
  none,
  batch,       ///< sequences of a micro-batch, of all dp ranks
  sequence,    ///< tokens
  hidden,      ///< width of the model
  heads,       ///< of queries, and of attention's output
  kv_heads,    ///< of keys and values
  latent,      ///< width between the two matrices of a latent projection
  inner,       ///< width between the matrices of an MLP
  vocabulary,  ///< different tokens
  experts,     ///< of a layer
  tables,      ///< of a recommender
  slots        ///< of an expert: tokens that the expert takes
};

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

}  // namespace chakra::gen
