// Changes to models: the table of their numbers, checks, and their effect on each kind of layer.
#include <fmt/core.h>

#include "chakra/model/model.h"

namespace chakra::model {
namespace {

constexpr int64_t kMuch = int64_t{1} << 20, kVeryMuch = int64_t{1} << 28;

}  // namespace

const std::array<ModelNumberRow, 7> kModelNumbers{{
    {"layers", "Layers of the model", &ModelChange::layers, 1, kMostLayers},
    {"hidden", "Width of the model", &ModelChange::hidden, 1, kMuch},
    {"ffn", "Inner width of the MLP", &ModelChange::ffn, 1, kMuch},
    {"heads", "Attention heads", &ModelChange::heads, 1, kMuch},
    {"kv-heads", "Heads of keys and values; 0: as many as heads", &ModelChange::kv_heads, 0, kMuch},
    {"head-dim", "Width of a head; 0: hidden / heads", &ModelChange::head_dim, 0, kMuch},
    {"vocab", "Vocabulary size", &ModelChange::vocabulary, 1, kVeryMuch},
}};

Model default_model() {
  Block block;
  block.attention.heads = block.attention.kv_heads = 16;
  block.attention.head_dim = block.attention.value_dim = 64;
  block.mlp.width = 4096;
  Model model;
  model.name = "transformer";
  model.hidden = 1024;
  model.vocabulary = 32'000;
  model.sequence = 2048;
  for (int i = 0; i < 8; ++i) add_layer(model, block);
  return model;
}

namespace {

/// What has no effect on a kind of layer is refused, so that no number seems to follow from it.
Result<void> check_change(const Model& model, const ModelChange& change) {
  if (model.family != Family::mlp && model.family != Family::recommender) return {};
  const auto refuse = [&](std::string_view name) {
    return fail(Code::usage, "gen.step.unsupported", fmt::format("{} does not apply to {}", name, model.name));
  };
  const bool recommender = model.family == Family::recommender;
  for (const ModelNumberRow& row : kModelNumbers) {
    const bool width = row.value == &ModelChange::hidden, count = row.value == &ModelChange::layers;
    if (change.*row.value && (recommender || (!width && !count))) return refuse(row.name);
  }
  if (change.gated) return refuse("gated");
  if (change.causal) return refuse("causal");
  return {};
}
Result<void> check_change(const Block& block, const ModelChange& change) {
  const auto refuse = [](const char* text) { return fail(Code::usage, "gen.step.unsupported", text); };
  if (change.gated && block.experts) return refuse("gated: experts are always gated");
  if (block.attention.kv_rank == 0) return {};
  if (change.kv_heads) return refuse("kv-heads: latent attention has as many as heads");
  if (change.head_dim) return refuse("head-dim: the widths of latent attention come with its model");
  return {};
}

/// The width of a norm of all heads, or of each, when these change.
int64_t norm_width(int64_t width, int64_t heads_before, int64_t dim_before, int64_t heads, int64_t dim) {
  return width == dim_before ? dim : width == heads_before * dim_before ? heads * dim : width;
}

}  // namespace

Result<Model> changed(Model model, const ModelChange& change) {
  for (const ModelNumberRow& row : kModelNumbers)
    if (const std::optional<int64_t> n = change.*row.value; n && (*n < row.least || *n > row.most))
      return fail(Code::usage, "gen.step.range",
                  fmt::format("{} is {}; from {} to {} are possible", row.name, *n, row.least, row.most));
  CHAKRA_TRY(check_change(model, change));
  if (model.family == Family::recommender) return model;
  if (model.layers.empty()) return fail(Code::usage, "gen.step.range", "the model has no layer");
  if (change.layers && model.blocks[model.layers.back()].first) {  // of an MLP only the first layer is
    Block next = model.blocks[model.layers.back()];
    next.first = false;
    add_layer(model, next);
  }
  if (change.layers) model.layers.resize(static_cast<size_t>(*change.layers), model.layers.back());
  model.hidden = change.hidden.value_or(model.hidden);
  model.vocabulary = change.vocabulary.value_or(model.vocabulary);
  model.causal = change.causal.value_or(model.causal);
  if (model.family == Family::mlp) return model;
  for (Block& block : model.blocks) {
    CHAKRA_TRY(check_change(block, change));
    Attention& a = block.attention;
    const Attention before = a;
    const bool all_heads = a.kv_heads == a.heads;
    a.heads = change.heads.value_or(a.heads);
    const int64_t kv = change.kv_heads.value_or(all_heads ? 0 : a.kv_heads);
    a.kv_heads = kv > 0 ? kv : a.heads;
    if (a.heads % a.kv_heads != 0)
      return fail(Code::usage, "gen.step.divide",
                  fmt::format("heads, {}, is not a multiple of kv-heads, {}", a.heads, a.kv_heads));
    const bool dependent = (change.hidden || change.heads) && a.kv_rank == 0;
    if (const int64_t width = change.head_dim.value_or(dependent ? 0 : a.head_dim); width > 0) {
      if (change.head_dim) a.value_dim = width;
      a.head_dim = width;
    } else if (model.hidden % a.heads != 0) {
      return fail(Code::usage, "gen.step.divide",
                  fmt::format("hidden, {}, is not a multiple of heads, {}", model.hidden, a.heads));
    } else {
      a.head_dim = a.value_dim = model.hidden / a.heads;
    }
    a.q_norm = norm_width(a.q_norm, before.heads, before.head_dim, a.heads, a.head_dim);
    a.k_norm = norm_width(a.k_norm, before.kv_heads, before.head_dim, a.kv_heads, a.head_dim);
    block.mlp.width = change.ffn.value_or(block.mlp.width);
    if (block.experts && change.ffn) block.experts->width = *change.ffn;
    block.mlp.gated = change.gated.value_or(block.mlp.gated);
  }
  return model;
}

}  // namespace chakra::model
