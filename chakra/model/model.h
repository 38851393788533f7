// A model as its makers describe it: kinds and widths of its parts, before anything is spread over ranks. It comes from
// a preset (kModels) or from Hugging Face's config.json (docs/reference/models.md).
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
/// Numbers that describe a point in time to a diffusion transformer.
inline constexpr int64_t kTimeWidth = 256;

enum class Norm : uint8_t { rms, layer };

/// What goes into the first layer, and what comes out of the last.
enum class Family : uint8_t {
  decoder,     ///< words, and the next word of each
  vision,      ///< patches of a picture and a class token, and the picture's class (ViT)
  diffusion,   ///< patches of a noisy picture, and its noise; its time and label modulate each norm (DiT)
  mlp,         ///< numbers: a chain of products
  recommender  ///< rows of tables and numbers of an example, and whether it is clicked (DLRM)
};

/// Grouped-query attention; multi-head with kv_heads = heads, multi-query with kv_heads = 1. Latent (DeepSeek-V2) where
/// kv_rank > 0: keys and values come from kv_rank + rope_dim numbers of a token, and these are the KV cache.
struct Attention {
  int64_t heads = 0, kv_heads = 0;
  int64_t head_dim = 0;   ///< of queries and keys, rope_dim included
  int64_t value_dim = 0;  ///< of values
  int64_t q_rank = 0;     ///< latent: of the down-projection of queries; 0: none
  int64_t kv_rank = 0, rope_dim = 0;
  int64_t window = 0;  ///< tokens that a token looks back at; 0: all
  /// Latent: of the down-projections (of keys and values without their up-projection).
  bool q_bias = false, kv_bias = false, out_bias = false;
  /// Widths of the weights that normalise queries and keys: head_dim where all heads share them (Qwen 3), heads *
  /// head_dim where each number has its own (OLMo 2); 0: none.
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

/// Each is a gated MLP.
struct Experts {
  int64_t count = 0, active = 0;  ///< of a layer; for each token
  int64_t width = 0;              ///< of one expert
  int64_t shared_width = 0;       ///< of the experts that every token takes, together; 0: none
  bool shared_gate = false;       ///< a weight per token for the shared ones (Qwen 2)
  bool bias = false, shared_bias = false, router_bias = false;

  bool operator==(const Experts&) const = default;
};

/// One kind of layer. Of an MLP: one product, with the width of the model in and out.
struct Block {
  Attention attention;
  Mlp mlp;                         ///< where there are no experts
  std::optional<Experts> experts;  ///< instead of the MLP
  int64_t norms = 2;               ///< Gemma 2 has 4, Falcon-7B 1
  bool parallel = false;           ///< attention and MLP take the same input (GPT-NeoX, Falcon)
  bool first = false;              ///< of an MLP: its input is the data, which needs no gradient

  bool operator==(const Block&) const = default;
};

/// Square or not, a picture is a row of patches.
struct Patches {
  int64_t count = 0;
  int64_t width = 0;  ///< numbers of a patch, all channels
};

/// What turns the numbers of an example into two MLPs' and tables' (DLRM). The model's hidden width is that of a row.
struct Recommender {
  int64_t dense = 0;                 ///< numbers that go into the first MLP
  int64_t tables = 0, rows = 0;      ///< rows of all tables together
  int64_t lookups = 1;               ///< rows of each table for an example; their sum counts
  std::vector<int64_t> bottom, top;  ///< widths after each product
};

struct Model {
  std::string name;  ///< of the preset, or the model_type
  Family family = Family::decoder;
  int64_t hidden = 0;
  int64_t vocabulary = 0;         ///< of pictures: their classes, with one for none where it is trained
  int64_t learned_positions = 0;  ///< rows of their table; 0: rotary or none
  int64_t sequence = 0;           ///< the longest it was made for; a default for steps
  Norm norm = Norm::rms;
  bool norm_weight = true, norm_bias = false;
  bool embedding_norm = false;  ///< behind the embedding (BLOOM)
  bool final_norm = true, tied = false, head_bias = false, causal = true;
  std::vector<Block> blocks;    ///< each kind once
  std::vector<uint8_t> layers;  ///< for each layer its kind; an index into `blocks`
  /// Multi-token prediction (DeepSeek-V3): layers behind the last one, of its kind, each with a projection of two
  /// hidden vectors to one and three norms. They use the model's embedding and head.
  int64_t mtp_layers = 0;
  Patches patches;          ///< of vision and diffusion
  int64_t noise_width = 0;  ///< diffusion: numbers that come out for a patch
  Recommender recommender;

  /// Whether ranks can share out the tokens of a sequence. A class token makes their number one that does not divide.
  bool shares_tokens() const { return family == Family::decoder || family == Family::diffusion; }
  const Block& block(size_t layer) const { return blocks[layers[layer]]; }
  bool has_experts() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const Block& block) { return block.experts.has_value(); });
  }
};

/// A model of one vector an example, without layers yet and without a norm after them.
Model without_tokens(std::string name, Family family, int64_t hidden);

/// Appends a layer, and its kind where it is new. Requires fewer than 256 kinds.
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
  int64_t experts = 0;     ///< how many
  int64_t shared = 0;      ///< the shared experts, together

  int64_t attention() const { return query + key_value + output; }
  int64_t with_experts(int64_t count) const {
    return attention() + norms + modulation + mlp + router + count * expert + shared;
  }
  int64_t total() const { return with_experts(experts); }
};
LayerParameters layer_parameters(const Model& model, const Block& block);

/// Elements of what is not in a layer.
struct OuterParameters {
  /// Of words; of patches and the class token; of patches, times and labels; tables and the first MLP.
  int64_t embedding = 0;
  int64_t positions = 0, embedding_norm = 0, final_norm = 0;
  int64_t head = 0;  ///< its bias alone where the embedding is tied; of a recommender its last MLP
  int64_t mtp = 0;   ///< projection and norms of one layer of multi-token prediction
};
OuterParameters outer_parameters(const Model& model);
/// Recommender: numbers of an example that go into the last MLP: those of the first one, and the product of each pair
/// of vectors.
int64_t interaction_width(const Model& model);

/// Elements of all parameters; those of tied embeddings count once. Requires a model that check_model() takes.
/// O(layers).
int64_t parameters(const Model& model);
/// Of them those that a token meets: of experts only the active ones.
int64_t active_parameters(const Model& model);
/// Bytes of keys and values that a token leaves in the cache, all layers; without those of multi-token prediction. 0
/// where nothing is written word by word.
int64_t kv_bytes_per_token(const Model& model, int64_t bytes_per_element);

/// Every width is in its range, heads divide, and the sums above fit.
/// Errors: gen.model.range, gen.model.divide, gen.model.large.
Result<void> check_model(const Model& model);

struct ConfigOptions {
  bool mtp = false;  ///< with the layers of multi-token prediction that the file names
};
/// Hugging Face's config.json (or the same keys as YAML), as transformers reads it: an absent key has the default of
/// its model_type. A key that is not understood and may change the model is a finding, gen.model.unknown_key. Errors:
/// those of load_spec; gen.model.type (no model_type, or an unknown one), .key (of another kind than it should be, or
/// missing), .range, .divide, .large, .unsupported (a value that changes the model in a way not known here).
Result<Model> read_config(const std::string& path, Findings& findings, const ConfigOptions& options = {});
Result<Model> parse_config(std::string_view text, std::string file, Findings& findings,
                           const ConfigOptions& options = {});

/// Keys that nearly every model_type has.
inline constexpr std::array<std::string_view, 9> kCommonKeys{
    "vocab_size",          "hidden_size", "intermediate_size",       "num_hidden_layers",  "num_attention_heads",
    "num_key_value_heads", "head_dim",    "max_position_embeddings", "tie_word_embeddings"};

/// A model_type of transformers, and the values of its absent keys; flags are 0 and 1.
class Keys;
struct ModelTypeRow {
  static constexpr int64_t kNone = -1;  ///< the default is null, or there is none
  std::string_view name;
  std::string_view source;  ///< the class that it describes
  Model (*build)(Keys& keys);
  std::array<int64_t, kCommonKeys.size()> common;
  std::vector<std::pair<std::string_view, int64_t>> more;

  /// kNone where there is none.
  int64_t default_of(std::string_view key) const;
};
std::span<const ModelTypeRow> model_types();

struct ModelRow {
  std::string_view name;
  std::string_view description;  ///< with the source of its sizes
  Model model;
  int64_t mtp_layers = 0;  ///< that it has where they are asked for
};
/// Models by name, the presets.
std::span<const ModelRow> models();
/// Null where there is none of that name.
const ModelRow* find_model(std::string_view name);
/// A known model by its name, or as a config.json. Errors and findings: those of read_config; gen.step.unsupported
/// (usage) where layers of multi-token prediction are asked for and it has none.
Result<Model> find_or_read_model(const std::string& text, Findings& findings, const ConfigOptions& options = {});

/// What of a model is other than its description says.
struct ModelChange {
  std::optional<int64_t> layers, hidden, ffn, heads, kv_heads, head_dim, vocabulary;
  std::optional<bool> gated, causal;
};
/// Eight layers of width 1,024.
Model default_model();
/// Of kinds of layers each is changed; more layers are further ones of the last kind. Unless told otherwise, there
/// are as many heads of keys as before, all if it was all, and a head is hidden / heads wide where one of the two
/// changes. Errors (usage): gen.step.range, gen.step.divide.
Result<Model> changed(Model model, const ModelChange& change);

struct ModelNumberRow {
  std::string_view name;
  std::string_view description;
  std::optional<int64_t> ModelChange::*value;
  int64_t least, most;
};
extern const std::array<ModelNumberRow, 7> kModelNumbers;

/// A kind of block that models are made of.
struct BlockKind {
  std::string_view name, place, description;
  std::string_view sample;  ///< a model that has it
  std::string operators;    ///< of that model's
};
std::vector<BlockKind> block_kinds();

}  // namespace chakra::model
