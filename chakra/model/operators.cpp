#include "chakra/model/operators.h"

#include <algorithm>
#include <cmath>

#include "chakra/base/real.h"

namespace chakra::model {

Extent cache_extent(const Attention& a, bool over_latents) {
  if (over_latents) return {Dim::kv_heads, 1, real(a.kv_rank + a.rope_dim)};
  return {Dim::kv_heads, real(a.kv_rank > 0 ? a.heads : a.kv_heads), real(a.head_dim + a.value_dim)};
}

double average_keys(double tokens, bool causal, int64_t window) {
  const double w = window > 0 ? std::min(real(window), tokens) : tokens;
  if (causal) return w - w * w / (2 * tokens);  // the first tokens have fewer before them
  return window > 0 ? std::min(2 * w, tokens) : tokens;
}

}  // namespace chakra::model
