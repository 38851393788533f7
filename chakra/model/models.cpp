// Presets: models by name.
#include "chakra/model/model.h"

namespace chakra::model {
namespace {

struct Sizes {
  int64_t layers, hidden, heads, kv_heads, head_dim, width, sequence, vocabulary;
};

Block dense(const Sizes& s) {
  Block b;
  b.attention.heads = s.heads;
  b.attention.kv_heads = s.kv_heads;
  b.attention.head_dim = b.attention.value_dim = s.head_dim;
  b.mlp.width = s.width;
  return b;
}

Model repeated(std::string_view name, const Sizes& s, const Block& block) {
  Model m;
  m.name = name;
  m.hidden = s.hidden;
  m.vocabulary = s.vocabulary;
  m.sequence = s.sequence;
  for (int64_t i = 0; i < s.layers; ++i) add_layer(m, block);
  return m;
}

Model llama(std::string_view name, const Sizes& s) { return repeated(name, s, dense(s)); }

/// As GPT-2: an MLP of two matrices, biases, norms that take the mean away.
Model with_biases(std::string_view name, const Sizes& s) {
  Block b = dense(s);
  b.mlp.gated = false;
  b.mlp.bias = b.attention.q_bias = b.attention.kv_bias = b.attention.out_bias = true;
  Model m = repeated(name, s, b);
  m.norm = Norm::layer;
  return m;
}

Model gpt(std::string_view name, const Sizes& s, bool tied) {
  Model m = with_biases(name, s);
  m.learned_positions = s.sequence;
  m.norm_bias = true;
  m.tied = tied;
  return m;
}

/// `head_norms`: queries and keys of each head are normalised.
Model with_experts(std::string_view name, const Sizes& s, const std::optional<Experts>& experts, bool head_norms) {
  Block b = dense(s);
  if (head_norms) b.attention.q_norm = b.attention.k_norm = s.head_dim;
  b.experts = experts;
  return repeated(name, s, b);
}

/// The first layers are dense.
Model deepseek(std::string_view name, const Sizes& s, const Attention& attention, int64_t dense_layers,
               const Experts& experts) {
  Sizes head = s;
  head.layers = dense_layers;
  Block b = dense(s);
  b.attention = attention;
  Model m = repeated(name, head, b);
  b.mlp = {};
  b.experts = experts;
  for (int64_t i = dense_layers; i < s.layers; ++i) add_layer(m, b);
  return m;
}

Attention latent(int64_t heads, int64_t q_rank) {
  Attention a;
  a.heads = a.kv_heads = heads;
  a.head_dim = 128 + 64;
  a.value_dim = 128;
  a.q_rank = q_rank;
  a.kv_rank = 512;
  a.rope_dim = 64;
  return a;
}

/// Dosovitskiy et al. 2021: images of 224 x 224 with three colours, 1,000 classes.
Model vit(std::string_view name, int64_t layers, int64_t hidden, int64_t heads, int64_t patch) {
  const int64_t side = 224 / patch, tokens = side * side + 1;
  Model m = with_biases(name, {layers, hidden, heads, heads, hidden / heads, 4 * hidden, tokens, 1000});
  m.family = Family::vision;
  m.patches = {side * side, 3 * patch * patch};
  m.learned_positions = tokens;
  m.norm_bias = m.head_bias = true;
  m.causal = false;
  return m;
}

/// Peebles and Xie 2023: latents of 32 x 32 with four channels, 1,000 classes and none, a variance for each number.
Model dit(std::string_view name, int64_t layers, int64_t hidden, int64_t heads, int64_t patch) {
  const int64_t side = 32 / patch;
  Model m = with_biases(name, {layers, hidden, heads, heads, hidden / heads, 4 * hidden, side * side, 1001});
  m.family = Family::diffusion;
  m.patches = {side * side, 4 * patch * patch};
  m.noise_width = 2 * m.patches.width;
  m.norm_weight = false;
  m.causal = false;
  return m;
}

/// As in the simulations of the Chakra paper: GEMMs only.
Model mlp(std::string_view name, int64_t layers, int64_t width) {
  Model m = without_tokens(std::string(name), Family::mlp, width);
  for (int64_t i = 0; i < layers; ++i) {
    Block b;
    b.first = i == 0;
    add_layer(m, b);
  }
  return m;
}

Model dlrm(std::string_view name, int64_t width, const Recommender& recommender) {
  Model m = without_tokens(std::string(name), Family::recommender, width);
  m.recommender = recommender;
  return m;
}

}  // namespace

std::span<const ModelRow> models() {
  // Sizes: the papers named in the rows, and the models' own config.json.
  static const std::vector<ModelRow> rows{
      {"tiny", "0.6 million parameters, to try things out", llama("tiny", {8, 64, 8, 4, 8, 256, 128, 1024})},
      {"llama2-7b", "Llama 2, 7 billion parameters (arXiv 2307.09288)",
       llama("llama2-7b", {32, 4096, 32, 32, 128, 11008, 4096, 32000})},
      {"llama2-70b", "Llama 2, 70 billion parameters (arXiv 2307.09288)",
       llama("llama2-70b", {80, 8192, 64, 8, 128, 28672, 4096, 32000})},
      {"llama3-8b", "Llama 3, 8 billion parameters (arXiv 2407.21783)",
       llama("llama3-8b", {32, 4096, 32, 8, 128, 14336, 8192, 128256})},
      {"llama3-70b", "Llama 3, 70 billion parameters (arXiv 2407.21783)",
       llama("llama3-70b", {80, 8192, 64, 8, 128, 28672, 8192, 128256})},
      {"llama3-405b", "Llama 3, 405 billion parameters (arXiv 2407.21783)",
       llama("llama3-405b", {126, 16384, 128, 8, 128, 53248, 8192, 128256})},
      {"gpt-165m", "A GPT of 165 million parameters, with separate embedding and head",
       gpt("gpt-165m", {12, 768, 12, 12, 64, 3072, 2048, 51200}, false)},
      {"gpt3-175b", "GPT-3, 175 billion parameters (arXiv 2005.14165)",
       gpt("gpt3-175b", {96, 12288, 96, 96, 128, 49152, 2048, 50257}, true)},
      {"qwen3-8b", "Qwen 3, 8 billion parameters (arXiv 2505.09388)",
       with_experts("qwen3-8b", {36, 4096, 32, 8, 128, 12288, 40960, 151936}, std::nullopt, true)},
      {"qwen3-30b-a3b", "Qwen 3, 30 billion parameters in experts, 3 active (arXiv 2505.09388)",
       with_experts("qwen3-30b-a3b", {48, 2048, 32, 4, 128, 0, 40960, 151936}, Experts{128, 8, 768}, true)},
      {"mixtral-8x7b", "Mixtral, 47 billion parameters in 8 experts (arXiv 2401.04088)",
       with_experts("mixtral-8x7b", {32, 4096, 32, 8, 128, 0, 32768, 32000}, Experts{8, 2, 14336}, false)},
      {"deepseek-moe-16b", "DeepSeekMoE, 16 billion parameters (arXiv 2401.06066)",
       deepseek("deepseek-moe-16b", {28, 2048, 16, 16, 128, 10944, 4096, 102400},
                dense({0, 0, 16, 16, 128, 0, 0, 0}).attention, 1, {64, 6, 1408, 2 * 1408})},
      {"deepseek-v2", "DeepSeek-V2, 236 billion parameters (arXiv 2405.04434)",
       deepseek("deepseek-v2", {60, 5120, 128, 128, 128, 12288, 163840, 102400}, latent(128, 1536), 1,
                {160, 6, 1536, 2 * 1536})},
      {"deepseek-v3", "DeepSeek-V3, 671 billion parameters (arXiv 2412.19437)",
       deepseek("deepseek-v3", {61, 7168, 128, 128, 128, 18432, 163840, 129280}, latent(128, 1536), 3,
                {256, 8, 2048, 2048}),
       1},
      {"vit-b16", "Vision transformer, 87 million parameters, patches of 16 x 16 (arXiv 2010.11929)",
       vit("vit-b16", 12, 768, 12, 16)},
      {"vit-l16", "Vision transformer, 304 million parameters (arXiv 2010.11929)", vit("vit-l16", 24, 1024, 16, 16)},
      {"vit-h14", "Vision transformer, 632 million parameters, patches of 14 x 14 (arXiv 2010.11929)",
       vit("vit-h14", 32, 1280, 16, 14)},
      {"dit-s2", "Diffusion transformer, 33 million parameters (arXiv 2212.09748)", dit("dit-s2", 12, 384, 6, 2)},
      {"dit-b2", "Diffusion transformer, 130 million parameters (arXiv 2212.09748)", dit("dit-b2", 12, 768, 12, 2)},
      {"dit-l2", "Diffusion transformer, 458 million parameters (arXiv 2212.09748)", dit("dit-l2", 24, 1024, 16, 2)},
      {"dit-xl2", "Diffusion transformer, 675 million parameters (arXiv 2212.09748)", dit("dit-xl2", 28, 1152, 16, 2)},
      {"mlp-6", "Six matrix multiplications of width 512 (arXiv 2305.14516)", mlp("mlp-6", 6, 512)},
      {"dlrm", "Recommender with 24 billion parameters in 26 tables (MLPerf Training 1.0, arXiv 1906.00091)",
       dlrm("dlrm", 128, {13, 26, 187'767'399, 1, {512, 256, 128}, {1024, 1024, 512, 256, 1}})},
  };
  return rows;
}

const ModelRow* find_model(std::string_view name) {
  const std::span<const ModelRow> rows = models();
  const auto row = std::ranges::find(rows, name, &ModelRow::name);
  return row == rows.end() ? nullptr : &*row;
}

Result<Model> find_or_read_model(const std::string& text, Findings& findings, const ConfigOptions& options) {
  Model model;
  if (const ModelRow* const row = find_model(text)) {
    model = row->model;
    if (options.mtp) model.mtp_layers = row->mtp_layers;
  } else {
    CHAKRA_ASSIGN(model, read_config(text, findings, options));
  }
  if (options.mtp && model.mtp_layers == 0)
    return fail(Code::usage, "gen.step.unsupported", "mtp: the model has no layers of multi-token prediction");
  return model;
}

}  // namespace chakra::model
