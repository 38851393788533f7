// Hugging Face's kinds of models: a row and a function for each. Defaults are those of transformers 5.23.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/gen/config.h"

namespace chakra::gen {
namespace {

constexpr int64_t kMostLayers = 1 << 16;

/// The keys that nearly all have.
Model outer(Keys& k, Norm norm) {
  Model m;
  m.hidden = k.number("hidden_size");
  m.vocabulary = k.number("vocab_size");
  m.sequence = k.number("max_position_embeddings");
  m.tied = k.flag("tie_word_embeddings");
  m.norm = norm;
  m.norm_bias = norm == Norm::layer;
  return m;
}

int64_t quotient(Keys& k, int64_t hidden, int64_t heads) {
  if (hidden % heads != 0)
    k.refuse("hidden_size", "gen.model.divide",
             fmt::format("the hidden width {} is not a multiple of {} heads", hidden, heads));
  return std::max<int64_t>(hidden / heads, 1);
}

Attention with_width(int64_t heads, int64_t kv_heads, int64_t head_dim) {
  Attention a;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = a.value_dim = head_dim;
  return a;
}
void set_biases(Attention& a, bool bias) { a.q_bias = a.kv_bias = a.out_bias = bias; }

/// Heads, those of keys and values, and their width, which a key gives, or hidden / heads without the rest.
Attention grouped(Keys& k, const Model& m) {
  const int64_t heads = k.number("num_attention_heads");
  const int64_t kv_heads = k.maybe("num_key_value_heads").value_or(heads);
  const auto given = k.maybe("head_dim");
  if (!given && m.hidden % heads != 0)
    k.note("gen.model.divide",
           fmt::format("the hidden width {} is not a multiple of {} heads; a head has {} without the rest", m.hidden,
                       heads, m.hidden / heads));
  return with_width(heads, kv_heads, given ? *given : std::max<int64_t>(m.hidden / heads, 1));
}

/// As many heads of keys and values as of queries.
Attention multi_head(Keys& k, const Model& m) {
  const int64_t heads = k.number("num_attention_heads");
  return with_width(heads, heads, quotient(k, m.hidden, heads));
}

/// `block_of(i)`: the kind of layer i.
template <class F>
void add_layers(Keys& k, Model& m, const F& block_of) {
  const int64_t count = k.number("num_hidden_layers");
  if (count > kMostLayers)
    k.refuse("num_hidden_layers", "gen.model.range",
             fmt::format("num_hidden_layers is {}; from 1 to {} are possible", count, kMostLayers));
  for (int64_t i = 0; i < count && !k.failed(); ++i) add_layer(m, block_of(i));
}
void add_equal_layers(Keys& k, Model& m, const Block& block) {
  add_layers(k, m, [&](int64_t) -> const Block& { return block; });
}

/// Layers that look back only so far: those that layer_types names, or else those of which `windowed` is true.
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
constexpr auto kAlways = [](int64_t) { return true; };

// ---- Llama and those like it: RMS norms, a gated MLP -------------------------------------------------------

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
  b.attention.window = k.maybe("sliding_window", 0).value_or(0);
  b.mlp.width = k.number("intermediate_size");
  add_equal_layers(k, m, b);
  return m;
}

/// The window of a Qwen; 0 where it is not in use.
int64_t qwen_window(Keys& k) {
  const int64_t window = k.maybe("sliding_window", 0).value_or(0);
  return k.flag("use_sliding_window") ? window : 0;
}

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
Model qwen2(Keys& k) { return qwen(k, true); }
Model qwen3(Keys& k) { return qwen(k, false); }

Block gemma_block(Keys& k, const Model& m) {
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  b.mlp.width = k.number("intermediate_size");
  return b;
}

Model gemma(Keys& k) {
  Model m = outer(k, Norm::rms);
  add_equal_layers(k, m, gemma_block(k, m));
  return m;
}

/// Every `period`-th layer looks at all tokens.
Model gemma_windowed(Keys& k, bool head_norms, int64_t period) {
  Model m = outer(k, Norm::rms);
  Block b = gemma_block(k, m);
  b.norms = 4;
  if (head_norms) b.attention.q_norm = b.attention.k_norm = b.attention.head_dim;
  const int64_t window = k.maybe("sliding_window", 0).value_or(0);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [&](int64_t i) { return (i + 1) % period != 0; });
  return m;
}
Model gemma2(Keys& k) { return gemma_windowed(k, false, 2); }
Model gemma3(Keys& k) { return gemma_windowed(k, true, k.maybe("sliding_window_pattern").value_or(6)); }

Model phi3(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  b.attention.window = k.maybe("sliding_window", 0).value_or(0);
  b.mlp.width = k.number("intermediate_size");
  add_equal_layers(k, m, b);
  return m;
}

Model olmo(Keys& k) {
  Model m = outer(k, Norm::layer);
  m.norm_weight = m.norm_bias = false;
  add_equal_layers(k, m, gemma_block(k, m));
  return m;
}

/// A norm for each number of queries and of keys.
void norm_widths(Attention& a) {
  a.q_norm = a.heads * a.head_dim;
  a.k_norm = a.kv_heads * a.head_dim;
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
  const int64_t window = k.maybe("sliding_window", 0).value_or(0);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [](int64_t) { return false; });
  return m;
}

// ---- layer norms and plain MLPs ------------------------------------------------------------------------------

/// The width of the MLP, or four times that of the model.
int64_t inner(Keys& k, const Model& m, std::string_view key) { return k.maybe(key).value_or(4 * m.hidden); }

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
  const int64_t kv_heads = k.maybe("num_kv_heads").value_or(b.attention.heads);
  if (decoder) b.attention.kv_heads = kv_heads;
  else if (k.flag("multi_query")) b.attention.kv_heads = 1;
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
  const bool before = k.flag("do_layer_norm_before");
  m.final_norm = before && !k.flag("_remove_final_layer_norm");
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
  if (k.flag("qk_layernorm")) b.attention.q_norm = b.attention.k_norm = b.attention.head_dim;
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
  b.attention.window = k.maybe("sliding_window", 0).value_or(0);
  b.mlp = {k.number("intermediate_size"), false, bias};
  add_equal_layers(k, m, b);
  return m;
}

Model stablelm(Keys& k) {
  Model m = outer(k, Norm::layer);
  Block b;
  b.attention = grouped(k, m);
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

// ---- experts -----------------------------------------------------------------------------------------------

Experts experts(Keys& k, std::string_view count, std::string_view width) {
  Experts e;
  e.count = k.number(count);
  if (const auto active = k.maybe("num_experts_per_tok")) {
    e.active = *active;
  } else {
    e.active = std::min<int64_t>(e.count, 6);
    k.note(
        "gen.model.missing_key",
        fmt::format("num_experts_per_tok is missing, and {} has no default for it; taken as {}", k.type(), e.active));
  }
  e.width = k.number(width);
  return e;
}

Model mixtral(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  b.attention.window = k.maybe("sliding_window", 0).value_or(0);
  b.experts = experts(k, "num_local_experts", "intermediate_size");
  add_equal_layers(k, m, b);
  return m;
}

Model olmoe(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  set_biases(b.attention, k.flag("attention_bias"));
  norm_widths(b.attention);
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
  const int64_t window = k.maybe("sliding_window", 0).value_or(0);
  add_windowed_layers(
      k, m, window, [&](int64_t) { return b; }, [](int64_t i) { return i % 2 == 0; });
  return m;
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

Model qwen2_moe(Keys& k) {
  Model m = outer(k, Norm::rms);
  Block b;
  b.attention = grouped(k, m);
  b.attention.q_bias = b.attention.kv_bias = k.flag("qkv_bias");
  if (k.number("num_experts", 0) > 0) {
    b.experts = experts(k, "num_experts", "moe_intermediate_size");
    b.experts->shared_width = k.number("shared_expert_intermediate_size", 0);
    b.experts->shared_gate = true;
  }
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
  if (k.number("num_experts", 0) > 0) b.experts = experts(k, "num_experts", "moe_intermediate_size");
  (void)k.maybe("max_window_layers", 0);  // in the published files, and not read
  add_qwen_moe_layers(k, m, b, kAlways);
  return m;
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
    sparse.experts->bias = bias;
  } else {
    sparse.mlp = dense.mlp;
  }
  add_layers(k, m, [&](int64_t i) { return i >= first && i % period == 0 ? sparse : dense; });
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
  add_deepseek_layers(k, m, latent(k), false, 1);
  (void)k.maybe("head_dim"), (void)k.maybe("qk_head_dim"), (void)k.maybe("num_key_value_heads");
  return m;
}

}  // namespace

std::span<const ModelTypeRow> model_types() {
  static const std::vector<ModelTypeRow> rows{
      {"llama",
       "LlamaForCausalLM",
       {{"vocab_size", 32000},
        {"hidden_size", 4096},
        {"intermediate_size", 11008},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 2048}},
       llama},
      {"mistral",
       "MistralForCausalLM",
       {{"vocab_size", 32000},
        {"hidden_size", 4096},
        {"intermediate_size", 14336},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 8},
        {"max_position_embeddings", 131072},
        {"sliding_window", 4096}},
       mistral},
      {"qwen2",
       "Qwen2ForCausalLM",
       {{"vocab_size", 151936},
        {"hidden_size", 4096},
        {"intermediate_size", 22016},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 32},
        {"max_position_embeddings", 32768},
        {"sliding_window", 4096},
        {"max_window_layers", 28}},
       qwen2},
      {"qwen3",
       "Qwen3ForCausalLM",
       {{"vocab_size", 151936},
        {"hidden_size", 4096},
        {"intermediate_size", 22016},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 32},
        {"head_dim", 128},
        {"max_position_embeddings", 32768},
        {"sliding_window", 4096},
        {"max_window_layers", 28}},
       qwen3},
      {"gemma",
       "GemmaForCausalLM",
       {{"vocab_size", 256000},
        {"hidden_size", 3072},
        {"intermediate_size", 24576},
        {"num_hidden_layers", 28},
        {"num_attention_heads", 16},
        {"num_key_value_heads", 16},
        {"head_dim", 256},
        {"max_position_embeddings", 8192},
        {"tie_word_embeddings", 1}},
       gemma},
      {"gemma2",
       "Gemma2ForCausalLM",
       {{"vocab_size", 256000},
        {"hidden_size", 2304},
        {"intermediate_size", 9216},
        {"num_hidden_layers", 26},
        {"num_attention_heads", 8},
        {"num_key_value_heads", 4},
        {"head_dim", 256},
        {"max_position_embeddings", 8192},
        {"tie_word_embeddings", 1},
        {"sliding_window", 4096}},
       gemma2},
      {"gemma3_text",
       "Gemma3ForCausalLM",
       {{"vocab_size", 262208},
        {"hidden_size", 2304},
        {"intermediate_size", 9216},
        {"num_hidden_layers", 26},
        {"num_attention_heads", 8},
        {"num_key_value_heads", 4},
        {"head_dim", 256},
        {"max_position_embeddings", 131072},
        {"tie_word_embeddings", 1},
        {"sliding_window", 4096}},
       gemma3},
      {"phi3",
       "Phi3ForCausalLM",
       {{"vocab_size", 32064},
        {"hidden_size", 3072},
        {"intermediate_size", 8192},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 4096}},
       phi3},
      {"olmo",
       "OlmoForCausalLM",
       {{"vocab_size", 50304},
        {"hidden_size", 4096},
        {"intermediate_size", 11008},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 2048}},
       olmo},
      {"olmo2",
       "Olmo2ForCausalLM",
       {{"vocab_size", 50304},
        {"hidden_size", 4096},
        {"intermediate_size", 11008},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 2048}},
       olmo2},
      {"smollm3",
       "SmolLM3ForCausalLM",
       {{"vocab_size", 128256},
        {"hidden_size", 2048},
        {"intermediate_size", 11008},
        {"num_hidden_layers", 36},
        {"num_attention_heads", 16},
        {"num_key_value_heads", 4},
        {"max_position_embeddings", 32768},
        {"tie_word_embeddings", 1}},
       smollm3},
      {"granite",
       "GraniteForCausalLM",
       {{"vocab_size", 32000},
        {"hidden_size", 4096},
        {"intermediate_size", 11008},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 2048}},
       llama},
      {"gpt2",
       "GPT2LMHeadModel",
       {{"vocab_size", 50257},
        {"max_position_embeddings", 1024},
        {"hidden_size", 768},
        {"num_hidden_layers", 12},
        {"num_attention_heads", 12},
        {"tie_word_embeddings", 1}},
       gpt2},
      {"gpt_bigcode",
       "GPTBigCodeForCausalLM",
       {{"vocab_size", 50257},
        {"max_position_embeddings", 1024},
        {"hidden_size", 768},
        {"num_hidden_layers", 12},
        {"num_attention_heads", 12},
        {"multi_query", 1},
        {"tie_word_embeddings", 1}},
       gpt2},
      {"gptj",
       "GPTJForCausalLM",
       {{"vocab_size", 50400},
        {"max_position_embeddings", 2048},
        {"hidden_size", 4096},
        {"num_hidden_layers", 28},
        {"num_attention_heads", 16}},
       gptj},
      {"gpt_neox",
       "GPTNeoXForCausalLM",
       {{"vocab_size", 50432},
        {"hidden_size", 6144},
        {"num_hidden_layers", 44},
        {"num_attention_heads", 64},
        {"intermediate_size", 24576},
        {"max_position_embeddings", 2048},
        {"use_parallel_residual", 1},
        {"attention_bias", 1}},
       gpt_neox},
      {"falcon",
       "FalconForCausalLM",
       {{"vocab_size", 65024},
        {"hidden_size", 4544},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 71},
        {"multi_query", 1},
        {"parallel_attn", 1},
        {"max_position_embeddings", 2048},
        {"tie_word_embeddings", 1}},
       falcon},
      {"bloom",
       "BloomForCausalLM",
       {{"vocab_size", 250880},
        {"hidden_size", 64},
        {"num_hidden_layers", 2},
        {"num_attention_heads", 8},
        {"tie_word_embeddings", 1},
        {"max_position_embeddings", 2048}},
       bloom},
      {"opt",
       "OPTForCausalLM",
       {{"vocab_size", 50272},
        {"hidden_size", 768},
        {"num_hidden_layers", 12},
        {"ffn_dim", 3072},
        {"max_position_embeddings", 2048},
        {"do_layer_norm_before", 1},
        {"num_attention_heads", 12},
        {"enable_bias", 1},
        {"layer_norm_elementwise_affine", 1},
        {"tie_word_embeddings", 1}},
       opt},
      {"phi",
       "PhiForCausalLM",
       {{"vocab_size", 51200},
        {"hidden_size", 2048},
        {"intermediate_size", 8192},
        {"num_hidden_layers", 24},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 2048}},
       phi},
      {"starcoder2",
       "Starcoder2ForCausalLM",
       {{"vocab_size", 49152},
        {"hidden_size", 3072},
        {"intermediate_size", 12288},
        {"num_hidden_layers", 30},
        {"num_attention_heads", 24},
        {"num_key_value_heads", 2},
        {"max_position_embeddings", 4096},
        {"use_bias", 1},
        {"tie_word_embeddings", 1}},
       starcoder2},
      {"stablelm",
       "StableLmForCausalLM",
       {{"vocab_size", 50304},
        {"intermediate_size", 6912},
        {"hidden_size", 2560},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 32},
        {"max_position_embeddings", 4096}},
       stablelm},
      {"cohere",
       "CohereForCausalLM",
       {{"vocab_size", 256000},
        {"hidden_size", 8192},
        {"intermediate_size", 22528},
        {"num_hidden_layers", 40},
        {"num_attention_heads", 64},
        {"max_position_embeddings", 8192},
        {"tie_word_embeddings", 1}},
       cohere},
      {"mixtral",
       "MixtralForCausalLM",
       {{"vocab_size", 32000},
        {"hidden_size", 4096},
        {"intermediate_size", 14336},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 8},
        {"max_position_embeddings", 131072},
        {"num_experts_per_tok", 2},
        {"num_local_experts", 8}},
       mixtral},
      {"olmoe",
       "OlmoeForCausalLM",
       {{"vocab_size", 50304},
        {"hidden_size", 2048},
        {"intermediate_size", 2048},
        {"num_hidden_layers", 16},
        {"num_attention_heads", 16},
        {"max_position_embeddings", 4096},
        {"num_experts_per_tok", 8},
        {"num_experts", 64}},
       olmoe},
      {"gpt_oss",
       "GptOssForCausalLM",
       {{"num_hidden_layers", 36},
        {"num_local_experts", 128},
        {"vocab_size", 201088},
        {"hidden_size", 2880},
        {"intermediate_size", 2880},
        {"head_dim", 64},
        {"num_attention_heads", 64},
        {"num_key_value_heads", 8},
        {"sliding_window", 128},
        {"max_position_embeddings", 131072},
        {"num_experts_per_tok", 4},
        {"attention_bias", 1}},
       gpt_oss},
      {"qwen2_moe",
       "Qwen2MoeForCausalLM",
       {{"vocab_size", 151936},
        {"hidden_size", 2048},
        {"intermediate_size", 5632},
        {"num_hidden_layers", 24},
        {"num_attention_heads", 16},
        {"num_key_value_heads", 16},
        {"max_position_embeddings", 32768},
        {"sliding_window", 4096},
        {"max_window_layers", 28},
        {"decoder_sparse_step", 1},
        {"moe_intermediate_size", 1408},
        {"shared_expert_intermediate_size", 5632},
        {"num_experts_per_tok", 4},
        {"num_experts", 60},
        {"qkv_bias", 1}},
       qwen2_moe},
      {"qwen3_moe",
       "Qwen3MoeForCausalLM",
       {{"vocab_size", 151936},
        {"hidden_size", 2048},
        {"intermediate_size", 6144},
        {"num_hidden_layers", 24},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 4},
        {"max_position_embeddings", 32768},
        {"sliding_window", 4096},
        {"decoder_sparse_step", 1},
        {"moe_intermediate_size", 768},
        {"num_experts_per_tok", 8},
        {"num_experts", 128}},
       qwen3_moe},
      {"deepseek",
       "DeepseekForCausalLM (of deepseek-ai/deepseek-moe-16b-base)",
       {{"vocab_size", 102400},
        {"hidden_size", 4096},
        {"intermediate_size", 11008},
        {"moe_intermediate_size", 1407},
        {"num_hidden_layers", 30},
        {"num_attention_heads", 32},
        {"num_key_value_heads", 32},
        {"moe_layer_freq", 1},
        {"first_k_dense_replace", 0},
        {"max_position_embeddings", 2048}},
       deepseek},
      {"deepseek_v2",
       "DeepseekV2ForCausalLM",
       {{"vocab_size", 102400},
        {"hidden_size", 4096},
        {"intermediate_size", 11008},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"max_position_embeddings", 2048},
        {"first_k_dense_replace", 0},
        {"kv_lora_rank", 512},
        {"q_lora_rank", 1536},
        {"n_routed_experts", 64},
        {"n_shared_experts", 2},
        {"qk_nope_head_dim", 128},
        {"qk_rope_head_dim", 64},
        {"v_head_dim", 128},
        {"moe_intermediate_size", 1407}},
       deepseek_v2},
      {"deepseek_v3",
       "DeepseekV3ForCausalLM",
       {{"vocab_size", 129280},
        {"hidden_size", 7168},
        {"intermediate_size", 18432},
        {"moe_intermediate_size", 2048},
        {"num_hidden_layers", 61},
        {"num_attention_heads", 128},
        {"num_key_value_heads", 128},
        {"n_shared_experts", 1},
        {"n_routed_experts", 256},
        {"kv_lora_rank", 512},
        {"q_lora_rank", 1536},
        {"qk_rope_head_dim", 64},
        {"v_head_dim", 128},
        {"qk_nope_head_dim", 128},
        {"num_experts_per_tok", 8},
        {"first_k_dense_replace", 3},
        {"max_position_embeddings", 4096}},
       deepseek_v3},
  };
  return rows;
}

}  // namespace chakra::gen
