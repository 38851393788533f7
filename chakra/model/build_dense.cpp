// Builders of models without experts.
#include "chakra/model/build.h"

namespace chakra::model::build {
namespace {

Model qwen(Keys& k, bool second) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  if (second) {
    b.attention.q_bias = b.attention.kv_bias = true;
  } else {
    set_biases(b.attention, k.flag("attention_bias"));
    b.attention.q_norm = b.attention.k_norm = b.attention.head_dim;
  }
  b.mlp.width = k.number("intermediate_size");
  const int64_t window = qwen_window(k), full = k.number("max_window_layers", 0);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [&](int64_t i) { return i >= full; });
  return m;
}
Block gemma_block(Keys& k, const Model& m) {
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.mlp.width = k.number("intermediate_size");
  return b;
}

/// Every `period`-th layer looks at all tokens.
Model gemma_windowed(Keys& k, bool head_norms, int64_t period) {
  Model m = outer(k, Norm::rms);
  Block b = gemma_block(k, m);
  b.norms = 4;
  if (head_norms) b.attention.q_norm = b.attention.k_norm = b.attention.head_dim;
  const int64_t window = window_of(k);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [&](int64_t i) { return (i + 1) % period != 0; });
  return m;
}
/// The width of the MLP, or four times that of the model.
int64_t inner(Keys& k, const Model& m, std::string_view key) { return k.maybe(key).value_or(4 * m.hidden); }

}  // namespace

Model llama(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.mlp = {k.number("intermediate_size"), true, k.flag("mlp_bias")};
  add_equal_layers(k, m, b);
  return m;
}

Model mistral(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  b.attention.window = window_of(k);
  b.mlp.width = k.number("intermediate_size");
  add_equal_layers(k, m, b);
  return m;
}

Model qwen2(Keys& k) { return qwen(k, true); }
Model qwen3(Keys& k) { return qwen(k, false); }

Model gemma(Keys& k) {
  Model m = outer(k, Norm::rms);
  add_equal_layers(k, m, gemma_block(k, m));
  return m;
}

Model gemma2(Keys& k) { return gemma_windowed(k, false, 2); }
Model gemma3(Keys& k) { return gemma_windowed(k, true, k.maybe("sliding_window_pattern").value_or(6)); }

Model olmo(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.norm_weight = m.norm_bias = false;
  add_equal_layers(k, m, gemma_block(k, m));
  return m;
}

Model olmo2(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b = gemma_block(k, m);
  norm_widths(b.attention);
  add_equal_layers(k, m, b);
  return m;
}

Model smollm3(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b = gemma_block(k, m);
  b.mlp.bias = k.flag("mlp_bias");
  if (k.flag("use_sliding_window") && k.words("layer_types").empty())
    k.unsupported("use_sliding_window", "use_sliding_window without layer_types is not understood");
  const int64_t window = window_of(k);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [](int64_t) { return false; });
  return m;
}

Model gpt2(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.learned_positions = m.sequence;
  Block b;
  b.attention = multi_head(k, m);
  if (k.type() == "gpt_bigcode" && k.flag("multi_query")) b.attention.kv_heads = 1;
  set_biases(b.attention, true);
  b.mlp = {inner(k, m, "n_inner"), false, true};
  if (k.flag("add_cross_attention")) k.unsupported("add_cross_attention", "cross attention is not known here");
  add_equal_layers(k, m, b);
  return m;
}

Model gptj(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.head_bias = true;
  Block b;
  b.attention = multi_head(k, m);
  b.mlp = {inner(k, m, "n_inner"), false, true};
  b.norms = 1;
  b.parallel = true;
  add_equal_layers(k, m, b);
  return m;
}

Model gpt_neox(Keys& k) {
  Model m = outer(k, Norm::layer);
  Block b;
  b.attention = multi_head(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.mlp = {k.number("intermediate_size"), false, true};
  b.parallel = k.flag("use_parallel_residual");
  add_equal_layers(k, m, b);
  return m;
}

Model falcon(Keys& k) {
  Model m = outer(k, Norm::layer);
  Block b;
  b.attention = multi_head(k, m);
  const bool decoder = k.flag("new_decoder_architecture");
  const bool multi_query = k.flag("multi_query");
  const int64_t kv_heads = k.maybe("num_kv_heads").value_or(b.attention.heads);
  if (decoder) b.attention.kv_heads = kv_heads;
  else if (multi_query) b.attention.kv_heads = 1;
  const bool bias = k.flag("bias");
  set_biases(b.attention, bias);
  b.mlp = {inner(k, m, "ffn_hidden_size"), false, bias};
  b.parallel = k.flag("parallel_attn");
  const int64_t norms = k.maybe("num_ln_in_parallel_attn", 0).value_or(decoder ? 2 : 1);
  b.norms = !b.parallel || norms == 2 ? 2 : 1;
  (void)k.flag("alibi");  // positions that are computed, either way
  add_equal_layers(k, m, b);
  return m;
}

Model bloom(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.embedding_norm = true;
  Block b;
  b.attention = multi_head(k, m);
  set_biases(b.attention, true);
  b.mlp = {4 * m.hidden, false, true};
  add_equal_layers(k, m, b);
  return m;
}

Model opt(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.learned_positions = m.sequence + 2;  // the first two are of padding
  m.norm_weight = m.norm_bias = k.flag("layer_norm_elementwise_affine");
  const bool before = k.flag("do_layer_norm_before"), removed = k.flag("_remove_final_layer_norm");
  m.final_norm = before && !removed;
  if (k.maybe("word_embed_proj_dim").value_or(m.hidden) != m.hidden)
    k.unsupported("word_embed_proj_dim", "an embedding of another width than the model's is not known here");
  Block b;
  b.attention = multi_head(k, m);
  const bool bias = k.flag("enable_bias");
  set_biases(b.attention, bias);
  b.mlp = {k.number("ffn_dim"), false, bias};
  add_equal_layers(k, m, b);
  return m;
}

Model phi(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.head_bias = true;
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, true);
  if (k.flag("qk_layernorm"))  // not of head_dim, where a key gives it
    b.attention.q_norm = b.attention.k_norm = m.hidden / b.attention.heads;
  b.mlp = {k.number("intermediate_size"), false, true};
  b.norms = 1;
  b.parallel = true;
  add_equal_layers(k, m, b);
  return m;
}

Model starcoder2(Keys& k) {
  Model m = outer(k, Norm::layer);
  Block b;
  b.attention = grouped(k, m);
  const bool bias = k.flag("use_bias");
  set_biases(b.attention, bias);
  b.attention.window = window_of(k);
  b.mlp = {k.number("intermediate_size"), false, bias};
  add_equal_layers(k, m, b);
  return m;
}

Model stablelm(Keys& k) {
  Model m = outer(k, Norm::layer);
  Block b;
  b.attention = multi_head(k, m);  // head_dim is not read
  b.attention.kv_heads = k.maybe("num_key_value_heads").value_or(b.attention.heads);
  b.attention.q_bias = b.attention.kv_bias = k.flag("use_qkv_bias");
  if (k.flag("qk_layernorm")) k.unsupported("qk_layernorm", "norms of single heads without a bias are not known here");
  b.mlp.width = k.number("intermediate_size");
  b.parallel = k.flag("use_parallel_residual");
  b.norms = b.parallel ? 1 : 2;
  add_equal_layers(k, m, b);
  return m;
}

Model cohere(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.norm_bias = false;
  Block b = gemma_block(k, m);
  if (k.flag("use_qk_norm")) norm_widths(b.attention);
  b.norms = 1;
  b.parallel = true;
  add_equal_layers(k, m, b);
  return m;
}

}  // namespace chakra::model::build
