// A model as published: kinds and widths of the parts, before any distribution over ranks. A model
// comes from a preset (kModels) or from Hugging Face's config.json (docs/reference/models.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::model {

inline constexpr int64_t kMostLayers = 1 << 16;
/// Numbers that encode a point in time for a diffusion transformer.
inline constexpr int64_t kTimeWidth = 256;

enum class Norm : uint8_t { rms, layer };

/// The input of the first layer, and the output of the last.
enum class Family : uint8_t {
  decoder,     ///< words; the next word of each
  vision,      ///< patches of an image and a class token; the class of the image (ViT)
  diffusion,   ///< patches of a noisy image; the noise. Time and label modulate each norm (DiT)
  mlp,         ///< numbers: a chain of matrix multiplications
  recommender  ///< rows of tables and numbers of an example; whether the example is clicked (DLRM)
};

/// Grouped-query attention; multi-head if kv_heads = heads, multi-query if kv_heads = 1. Latent (DeepSeek-V2)
/// if kv_rank > 0: keys and values come from kv_rank + rope_dim numbers of a token, which are the KV cache.
struct Attention {
  int64_t heads = 0, kv_heads = 0;
  int64_t head_dim = 0;   ///< of queries and keys, rope_dim included
  int64_t value_dim = 0;  ///< of values
  int64_t q_rank = 0;     ///< latent: of the down-projection of queries; 0: no down-projection
  int64_t kv_rank = 0, rope_dim = 0;
  int64_t window = 0;  ///< tokens that a token looks back at; 0: all
  /// Latent: of the down-projections (of keys and values without their up-projection).
  bool q_bias = false, kv_bias = false, out_bias = false;
  /// Widths of the weights that normalise queries and keys: head_dim if all heads share the
  /// weights (Qwen 3), heads * head_dim if each number has a separate weight (OLMo 2); 0: no norm.
  int64_t q_norm = 0, k_norm = 0;
  bool sinks = false;  ///< a number per head that joins the softmax (gpt-oss)

  bool operator==(const Attention&) const = default;
};

struct Mlp {
  int64_t width = 0;
  bool gated = true;  ///< two matrices in (SwiGLU), else one (GELU)
  bool bias = false;

  bool operator==(const Mlp&) const = default;
};

/// Experts, each a gated MLP.
struct Experts {
  int64_t count = 0, active = 0;  ///< of a layer; for each token
  int64_t width = 0;              ///< of one expert
  int64_t shared_width = 0;       ///< of the experts that every token takes, together; 0: no such experts
  bool shared_gate = false;       ///< a weight per token for the shared ones (Qwen 2)
  bool bias = false, shared_bias = false, router_bias = false;

  bool operator==(const Experts&) const = default;
};

/// One kind of layer. In an MLP, a layer is one matrix multiplication, with the width of the model in and out.
struct Block {
  Attention attention;
  Mlp mlp;                         ///< if there are no experts
  std::optional<Experts> experts;  ///< instead of the MLP
  int64_t norms = 2;               ///< Gemma 2 has 4, Falcon-7B 1
  bool parallel = false;           ///< attention and MLP take the same input (GPT-NeoX, Falcon)
  bool first = false;              ///< of an MLP: the input is the data, which needs no gradient

  bool operator==(const Block&) const = default;
};

/// An image, square or not, as a row of patches.
struct Patches {
  int64_t count = 0;
  int64_t width = 0;  ///< numbers of a patch, all channels
};

/// The two MLPs and the tables of a recommender (DLRM). The model's hidden width is the width of a row.
struct Recommender {
  int64_t dense = 0;                 ///< inputs of the first MLP
  int64_t tables = 0, rows = 0;      ///< rows of all tables together
  int64_t lookups = 1;               ///< rows of each table for an example, which are summed
  std::vector<int64_t> bottom, top;  ///< widths after each matrix multiplication
};

struct Model {
  std::string name;  ///< of the preset, or the model_type
  Family family = Family::decoder;
  int64_t hidden = 0;
  int64_t vocabulary = 0;         ///< of images: the classes, with one for unlabelled images if trained
  int64_t learned_positions = 0;  ///< rows of the position table; 0: RoPE or no positions
  int64_t sequence = 0;           ///< the longest intended sequence; a default for steps
  Norm norm = Norm::rms;
  bool norm_weight = true, norm_bias = false;
  bool embedding_norm = false;  ///< after the embedding (BLOOM)
  bool final_norm = true, tied = false, head_bias = false, causal = true;
  std::vector<Block> blocks;    ///< each kind once
  std::vector<uint8_t> layers;  ///< for each layer its kind; an index into `blocks`
  /// Multi-token prediction (DeepSeek-V3): additional layers after the last one, of its kind, each with a projection
  /// of two hidden vectors to one and three norms. The additional layers use the model's embedding and head.
  int64_t mtp_layers = 0;
  Patches patches;          ///< of vision and diffusion
  int64_t noise_width = 0;  ///< diffusion: output numbers for a patch
  Recommender recommender;

  /// Return whether ranks can share the tokens of a sequence. With a class token the number of tokens does not divide.
  bool shares_tokens() const { return family == Family::decoder || family == Family::diffusion; }
  const Block& block(size_t layer) const { return blocks[layers[layer]]; }
  bool has_experts() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const Block& block) { return block.experts.has_value(); });
  }
};

/// Return a model of one vector per example, without layers yet and without a norm after the layers.
Model without_tokens(std::string name, Family family, int64_t hidden);

/// Append a layer, and its kind if new. Requires fewer than 256 kinds.
void add_layer(Model& model, const Block& block);

/// Elements of the parameters of a layer, with biases, by part.
struct LayerParameters {
  int64_t query = 0;       ///< latent: both projections and the norm between them
  int64_t key_value = 0;   ///< likewise
  int64_t output = 0;      ///< with the sinks
  int64_t norms = 0;       ///< of the block, of queries and of keys
  int64_t modulation = 0;  ///< diffusion: of shifts, scales and gates from time and label
  int64_t mlp = 0;         ///< of a layer without experts
  int64_t router = 0;      ///< with the gate of the shared experts
  int64_t expert = 0;      ///< one of `experts`
  int64_t experts = 0;     ///< number of experts
  int64_t shared = 0;      ///< the shared experts, together

  int64_t attention() const { return query + key_value + output; }
  int64_t with_experts(int64_t count) const {
    return attention() + norms + modulation + mlp + router + count * expert + shared;
  }
  int64_t total() const { return with_experts(experts); }
};
LayerParameters layer_parameters(const Model& model, const Block& block);

/// Elements of the parameters outside the layers.
struct OuterParameters {
  /// Of words; of patches and the class token; of patches, times and labels; tables and the first MLP.
  int64_t embedding = 0;
  int64_t positions = 0, embedding_norm = 0, final_norm = 0;
  int64_t head = 0;  ///< only the bias if the embedding is tied; of a recommender the last MLP
  int64_t mtp = 0;   ///< projection and norms of one layer of multi-token prediction
};
OuterParameters outer_parameters(const Model& model);
/// Return, for a recommender, the numbers of an example that go into the last
/// MLP: the numbers of the first MLP, and the dot product of each pair of vectors.
int64_t interaction_width(const Model& model);

/// Return the elements of all parameters; tied embeddings count
/// once. Requires a model that check_model() accepts. O(layers).
int64_t parameters(const Model& model);
/// Return the elements of the parameters that a token uses: of experts only the active ones.
int64_t active_parameters(const Model& model);
/// Return the bytes of keys and values that a token adds to the cache, over all
/// layers, without multi-token prediction. 0 if the model does not write word by word.
int64_t kv_bytes_per_token(const Model& model, int64_t bytes_per_element);

/// Check that every width is in its range, heads divide, and the sums above fit.
/// Errors: gen.model.range, gen.model.divide, gen.model.large.
Result<void> check_model(const Model& model);

struct ConfigOptions {
  bool mtp = false;  ///< with the layers of multi-token prediction in the file
};
/// Read Hugging Face's config.json (or the same keys as YAML), as transformers does: an absent key has the default
/// of its model_type. An unknown key that may change the model is a finding, gen.model.unknown_key. Errors: those
/// of load_spec; gen.model.type (a missing or unknown model_type), .key (a key of the wrong kind, or a missing
/// key), .range, .divide, .large, .unsupported (a value that changes the model in an unsupported way).
Result<Model> read_config(const std::string& path, Findings& findings, const ConfigOptions& options = {});
Result<Model> parse_config(std::string_view text, std::string file, Findings& findings,
                           const ConfigOptions& options = {});

/// Keys of nearly every model_type.
inline constexpr std::array<std::string_view, 9> kCommonKeys{
    "vocab_size",          "hidden_size", "intermediate_size",       "num_hidden_layers",  "num_attention_heads",
    "num_key_value_heads", "head_dim",    "max_position_embeddings", "tie_word_embeddings"};

/// A model_type of transformers, and the values of its absent keys; flags are 0 and 1.
class Keys;
struct ModelTypeRow {
  static constexpr int64_t kNone = -1;  ///< the default is null or missing
  std::string_view name;
  std::string_view source;  ///< the class of transformers that the row describes
  Model (*build)(Keys& keys);
  std::array<int64_t, kCommonKeys.size()> common;
  std::vector<std::pair<std::string_view, int64_t>> more;

  /// Return the default, or kNone.
  int64_t default_of(std::string_view key) const;
};
std::span<const ModelTypeRow> model_types();

struct ModelRow {
  std::string_view name;
  std::string_view description;  ///< with the source of its sizes
  Model model;
  int64_t mtp_layers = 0;  ///< available on request
};
/// The presets: models by name.
std::span<const ModelRow> models();
/// Return the model of that name, or null.
const ModelRow* find_model(std::string_view name);
/// Return a known model by name, or read a config.json. Errors and findings: those of read_config;
/// gen.step.unsupported (usage) if multi-token prediction is requested and the model does not have such layers.
Result<Model> find_or_read_model(const std::string& text, Findings& findings, const ConfigOptions& options = {});

/// Changes to the description of a model.
struct ModelChange {
  std::optional<int64_t> layers, hidden, ffn, heads, kv_heads, head_dim, vocabulary;
  std::optional<bool> gated, causal;
};
/// Return a model of eight layers of width 1,024.
Model default_model();
/// Change a model. Every kind of layer changes; additional layers are of the last kind. Unless
/// given, kv_heads stays the same, or equal to heads if it was equal; and head_dim becomes
/// hidden / heads if one of the two changes. Errors (usage): gen.step.range, gen.step.divide.
Result<Model> changed(Model model, const ModelChange& change);

struct ModelNumberRow {
  std::string_view name;
  std::string_view description;
  std::optional<int64_t> ModelChange::*value;
  int64_t least, most;
};
extern const std::array<ModelNumberRow, 7> kModelNumbers;

/// A kind of block in models.
struct BlockKind {
  std::string_view name, place, description;
  std::string_view sample;  ///< a model with this block
  std::string operators;    ///< of this block in the sample
};
std::vector<BlockKind> block_kinds();

}  // namespace chakra::model
