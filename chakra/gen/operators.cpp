#include "chakra/gen/operators.h"

#include <algorithm>
#include <cmath>

#include "chakra/gen/real.h"

namespace chakra::gen {

Extent cache_extent(const Attention& a, bool over_latents) {
  if (over_latents) return {Dim::kv_heads, 1, real(a.kv_rank + a.rope_dim)};
  return {Dim::kv_heads, real(a.kv_rank > 0 ? a.heads : a.kv_heads), real(a.head_dim + a.value_dim)};
}

double average_keys(double tokens, bool causal, int64_t window) {
  const double w = window > 0 ? std::min(real(window), tokens) : tokens;
  if (causal) return w - w * w / (2 * tokens);  // the first tokens have fewer before them
  return window > 0 ? std::min(2 * w, tokens) : tokens;
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
