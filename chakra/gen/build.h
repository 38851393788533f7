// The builders of models, a function for each kind of config.json, and shared helpers.
#pragma once

#include <fmt/core.h>

#include <algorithm>

#include "chakra/gen/config.h"

namespace chakra::gen::build {

/// Read the keys that nearly all model types have.
inline Model outer(Keys& k, Norm norm) {
  Model m;
  m.hidden = k.number("hidden_size");
  m.vocabulary = k.number("vocab_size");
  m.sequence = k.number("max_position_embeddings");
  m.tied = k.flag("tie_word_embeddings");
  m.norm = norm;
  m.norm_bias = norm == Norm::layer;
  return m;
}

inline int64_t quotient(Keys& k, int64_t hidden, int64_t heads) {
  if (hidden % heads != 0)
    k.refuse("hidden_size", "gen.model.divide",
             fmt::format("the hidden width {} is not a multiple of {} heads", hidden, heads));
  return std::max<int64_t>(hidden / heads, 1);
}

inline Attention with_width(int64_t heads, int64_t kv_heads, int64_t head_dim) {
  Attention a;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = a.value_dim = head_dim;
  return a;
}
inline void set_biases(Attention& a, bool bias) { a.q_bias = a.kv_bias = a.out_bias = bias; }

/// Return the window of layers with a sliding window, in tokens; 0 without a window.
inline int64_t window_of(Keys& k) { return k.maybe("sliding_window", 0).value_or(0); }

/// Return the heads, key/value heads, and the head width from a key, or else hidden / heads, rounded down.
inline Attention grouped(Keys& k, const Model& m) {
  const int64_t heads = k.number("num_attention_heads");
  const int64_t kv_heads = k.maybe("num_key_value_heads").value_or(heads);
  const auto given = k.maybe("head_dim");
  if (!given && m.hidden % heads != 0)
    k.note("gen.model.divide",
           fmt::format("the hidden width {} is not a multiple of {} heads; a head has {} without the rest", m.hidden,
                       heads, m.hidden / heads));
  return with_width(heads, kv_heads, given ? *given : std::max<int64_t>(m.hidden / heads, 1));
}

/// Return attention with as many heads of keys and values as of queries.
inline Attention multi_head(Keys& k, const Model& m) {
  const int64_t heads = k.number("num_attention_heads");
  return with_width(heads, heads, quotient(k, m.hidden, heads));
}

/// Add layers; block_of(i) is the kind of layer i.
template <class F>
void add_layers(Keys& k, Model& m, std::string_view key, const F& block_of) {
  const int64_t count = k.number(key);
  if (count > kMostLayers)
    k.refuse(key, "gen.model.range", fmt::format("{} is {}; from 1 to {} are possible", key, count, kMostLayers));
  for (int64_t i = 0; i < count && !k.failed(); ++i) add_layer(m, block_of(i));
}
template <class F>
void add_layers(Keys& k, Model& m, const F& block_of) {
  add_layers(k, m, "num_hidden_layers", block_of);
}
inline void add_equal_layers(Keys& k, Model& m, const Block& block, std::string_view key = "num_hidden_layers") {
  add_layers(k, m, key, [&](int64_t) -> const Block& { return block; });
}

/// Add layers, some with a window: the layers that layer_types names, or else the layers with windowed(i).
template <class F, class G>
void add_windowed_layers(Keys& k, Model& m, int64_t window, const F& block_of, const G& windowed) {
  const std::vector<std::string> types = k.words("layer_types");
  if (!types.empty() && static_cast<int64_t>(types.size()) != k.number("num_hidden_layers"))
    k.refuse("layer_types", "gen.model.key",
             fmt::format("layer_types has {} items for {} layers", types.size(), k.number("num_hidden_layers")));
  for (const std::string& type : types)
    if (type != "sliding_attention" && type != "full_attention")
      k.unsupported("layer_types", fmt::format("{} is a kind of layer that is not known here", quote(type)));
  add_layers(k, m, [&](int64_t i) {
    Block block = block_of(i);
    const bool window_here = types.empty() ? windowed(i) : types[static_cast<size_t>(i)] == "sliding_attention";
    block.attention.window = window_here ? window : 0;
    return block;
  });
}
inline constexpr auto kAlways = [](int64_t) { return true; };

/// Add norms with a separate weight for each number of queries and of keys.
inline void norm_widths(Attention& a) {
  a.q_norm = a.heads * a.head_dim;
  a.k_norm = a.kv_heads * a.head_dim;
}

/// Return the window of a Qwen; 0 if unused.
inline int64_t qwen_window(Keys& k) {
  const int64_t window = window_of(k);
  return k.flag("use_sliding_window") ? window : 0;
}

Model llama(Keys& k);
Model mistral(Keys& k);
Model qwen2(Keys& k);
Model qwen3(Keys& k);
Model gemma(Keys& k);
Model gemma2(Keys& k);
Model gemma3(Keys& k);
Model olmo(Keys& k);
Model olmo2(Keys& k);
Model smollm3(Keys& k);
Model gpt2(Keys& k);
Model gptj(Keys& k);
Model gpt_neox(Keys& k);
Model falcon(Keys& k);
Model bloom(Keys& k);
Model opt(Keys& k);
Model phi(Keys& k);
Model starcoder2(Keys& k);
Model stablelm(Keys& k);
Model cohere(Keys& k);
Model mixtral(Keys& k);
Model olmoe(Keys& k);
Model gpt_oss(Keys& k);
Model qwen2_moe(Keys& k);
Model qwen3_moe(Keys& k);
Model deepseek(Keys& k);
Model deepseek_v2(Keys& k);
Model deepseek_v3(Keys& k);
Model own(Keys& k);
Model vit(Keys& k);
Model dit(Keys& k);
Model mlp(Keys& k);
Model dlrm(Keys& k);

}  // namespace chakra::gen::build
