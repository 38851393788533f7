// A model as its makers describe it: kinds and widths of its parts, before anything is spread over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::gen {

enum class Norm : uint8_t { rms, layer };

/// Grouped-query attention; multi-head with kv_heads = heads, multi-query with kv_heads = 1. Latent (DeepSeek-V2) where
/// kv_rank > 0: keys and values come from kv_rank + rope_dim numbers of a token, and these are the KV cache.
struct Attention {
  int64_t heads = 0, kv_heads = 0;
  int64_t head_dim = 0;   ///< of queries and keys, rope_dim included
  int64_t value_dim = 0;  ///< of values
  int64_t q_rank = 0;     ///< latent: of the down-projection of queries; 0: none
  int64_t kv_rank = 0, rope_dim = 0;
  int64_t window = 0;  ///< tokens that a token looks back at; 0: all
  bool q_bias = false, kv_bias = false, out_bias = false;
  bool head_norms = false;  ///< queries and keys are normalised, a head at a time (Qwen 3, Gemma 3)
};

struct Mlp {
  int64_t width = 0;
  bool gated = true;  ///< two matrices in (SwiGLU), else one (GELU)
  bool bias = false;
};

struct Experts {
  int64_t count = 0, active = 0;  ///< of a layer; for each token
  int64_t width = 0;              ///< of one expert
  int64_t shared_width = 0;       ///< of the experts that every token takes, together; 0: none
  bool shared_gate = false;       ///< a weight per token for the shared ones (Qwen 2)
  bool router_bias = false;
};

/// One kind of layer.
struct Block {
  Attention attention;
  Mlp mlp;                         ///< where there are no experts
  std::optional<Experts> experts;  ///< gated
  int64_t norms = 2;               ///< Gemma 2 has 4, Falcon-7B 1
  bool parallel = false;           ///< attention and MLP take the same input (GPT-NeoX, Falcon)
};

struct Model {
  std::string name;  ///< of the preset, or the model_type
  int64_t hidden = 0, vocabulary = 0;
  int64_t learned_positions = 0;  ///< rows of their table; 0: rotary or none
  int64_t sequence = 0;           ///< the longest it was made for; a default for steps
  Norm norm = Norm::rms;
  bool norm_bias = false, final_norm = true, tied = false, head_bias = false, causal = true;
  std::vector<Block> blocks;    ///< each kind once
  std::vector<uint8_t> layers;  ///< for each layer its kind; an index into `blocks`
};

/// Elements of all parameters; those of tied embeddings count once. O(layers).
int64_t parameters(const Model& model);
/// Of them those that a token meets: of experts only the active ones.
int64_t active_parameters(const Model& model);
/// Bytes of keys and values that a token leaves in the cache, all layers.
int64_t kv_bytes_per_token(const Model& model, int64_t bytes_per_element);

}  // namespace chakra::gen
