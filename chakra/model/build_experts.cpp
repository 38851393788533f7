// Builders of models with experts.
#include "chakra/model/build.h"

namespace chakra::model::build {
namespace {

Experts experts(Keys& k, std::string_view count, std::string_view width) {
  Experts e;
  e.count = k.number(count, 0);
  if (const auto active = k.maybe("num_experts_per_tok")) {
    e.active = *active;
  } else {
    e.active = std::min<int64_t>(e.count, 6);
    k.note("gen.model.missing_key",
           fmt::format("num_experts_per_tok is missing, and {} has no default for it; using {}", k.type(), e.active));
  }
  e.width = k.number(width);
  return e;
}

/// Which layers of a Qwen have experts.
template <class F>
void add_qwen_moe_layers(Keys& k, Model& m, const Block& sparse, const F& windowed) {
  Block dense = sparse;
  dense.experts.reset();
  dense.mlp.width = k.number("intermediate_size");
  const int64_t step = k.number("decoder_sparse_step"), window = qwen_window(k);
  std::vector<int64_t> only = k.numbers("mlp_only_layers");
  std::sort(only.begin(), only.end());
  const auto block_of = [&](int64_t i) {
    const bool is_dense = (i + 1) % step != 0 || std::binary_search(only.begin(), only.end(), i);
    return is_dense || !sparse.experts ? dense : sparse;
  };
  add_windowed_layers(k, m, window, block_of, windowed);
}

/// Keys and values from a projection to few numbers (arXiv 2405.04434).
Attention latent(Keys& k) {
  Attention a;
  a.heads = a.kv_heads = k.number("num_attention_heads");
  a.rope_dim = k.number("qk_rope_head_dim");
  a.head_dim = k.number("qk_nope_head_dim") + a.rope_dim;
  a.value_dim = k.number("v_head_dim");
  a.q_rank = k.maybe("q_lora_rank").value_or(0);
  a.kv_rank = k.number("kv_lora_rank");
  set_biases(a, k.flag("attention_bias"));
  a.q_bias = a.q_bias && a.q_rank > 0;
  return a;
}

/// Dense layers first, then layers of routed and shared experts, `period` apart.
void add_deepseek_layers(Keys& k, Model& m, const Attention& attention, bool bias, int64_t period) {
  Block dense, sparse;
  dense.attention = sparse.attention = attention;
  dense.mlp = {k.number("intermediate_size"), true, bias};
  const int64_t first = k.number("first_k_dense_replace", 0);
  if (const auto count = k.maybe("n_routed_experts")) {
    sparse.experts = experts(k, "n_routed_experts", "moe_intermediate_size");
    sparse.experts->shared_width = sparse.experts->width * k.maybe("n_shared_experts", 0).value_or(0);
    sparse.experts->shared_bias = bias;
  } else {
    sparse.mlp = dense.mlp;
  }
  add_layers(k, m, [&](int64_t i) { return i >= first && i % period == 0 ? sparse : dense; });
}

}  // namespace

Model mixtral(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  b.attention.window = window_of(k);
  b.experts = experts(k, "num_local_experts", "intermediate_size");
  add_equal_layers(k, m, b);
  return m;
}

Model olmoe(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.attention.q_norm = m.hidden;  // even where head_dim makes queries of another width
  b.attention.k_norm = m.hidden / b.attention.heads * b.attention.kv_heads;
  b.experts = experts(k, "num_experts", "intermediate_size");
  add_equal_layers(k, m, b);
  return m;
}

Model gpt_oss(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.attention.sinks = true;
  b.experts = experts(k, "num_local_experts", "intermediate_size");
  b.experts->bias = b.experts->router_bias = true;
  const int64_t window = window_of(k);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [](int64_t i) { return i % 2 == 0; });
  return m;
}

Model qwen2_moe(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  b.attention.q_bias = b.attention.kv_bias = k.flag("qkv_bias");
  Experts e = experts(k, "num_experts", "moe_intermediate_size");
  e.shared_width = k.number("shared_expert_intermediate_size", 0);
  e.shared_gate = true;
  if (e.count > 0) b.experts = e;
  const int64_t layers = k.number("max_window_layers", 0);
  add_qwen_moe_layers(k, m, b, [&](int64_t i) { return i % 2 == 0 && i < layers; });
  return m;
}

Model qwen3_moe(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.attention.q_norm = b.attention.k_norm = b.attention.head_dim;
  if (const Experts e = experts(k, "num_experts", "moe_intermediate_size"); e.count > 0) b.experts = e;
  (void)k.maybe("max_window_layers", 0);  // in the published files, and not read
  add_qwen_moe_layers(k, m, b, kAlways);
  return m;
}

Model deepseek(Keys& k) {
  Model m = outer(k, Norm::rms);
  Attention a = grouped(k, m);
  set_biases(a, k.flag("attention_bias"));
  add_deepseek_layers(k, m, a, false, k.number("moe_layer_freq"));
  return m;
}

Model deepseek_v2(Keys& k) {
  Model m = outer(k, Norm::rms);
  add_deepseek_layers(k, m, latent(k), k.flag("mlp_bias"), 1);
  (void)k.maybe("head_dim"), (void)k.maybe("qk_head_dim"), (void)k.maybe("num_key_value_heads");
  return m;
}

Model deepseek_v3(Keys& k) {
  Model m = outer(k, Norm::rms);
  m.mtp_layers = k.maybe("num_nextn_predict_layers", 0).value_or(0);
  add_deepseek_layers(k, m, latent(k), false, 1);
  (void)k.maybe("head_dim"), (void)k.maybe("qk_head_dim"), (void)k.maybe("num_key_value_heads");
  return m;
}

}  // namespace chakra::model::build
