#include "chakra/model/blocks.h"

#include <algorithm>

#include "chakra/model/model.h"

namespace chakra::model {
namespace {

using Place = BlockRow::Place;

template <Family family>
bool is_of(const Model& model, const Block&) {
  return model.family == family;
}
bool is_layer(const Model& model, const Block&) {
  return model.family == Family::decoder || model.family == Family::vision;
}
bool has_experts(const Model& model, const Block& layer) { return is_layer(model, layer) && layer.experts; }
bool is_latent(const Model& model, const Block& layer) { return is_layer(model, layer) && layer.attention.kv_rank > 0; }
bool predicts_more(const Model& model, const Block&) { return model.mtp_layers > 0; }

constexpr std::string_view place_name(Place place) {
  switch (place) {
    case Place::front: return "before the layers";
    case Place::layer: return "a layer";
    case Place::prediction: return "after the layers, beside the end";
    case Place::end: return "after the layers";
  }
  return "";
}

}  // namespace

std::span<const BlockRow> block_rows() {
  static constexpr auto rows = std::to_array<BlockRow>({
      {"embedding", "Words become vectors; learned positions are added", Place::front, is_of<Family::decoder>,
       block::embedding, "gpt3-175b"},
      {"patches", "Patches of a picture become vectors, after a class token", Place::front, is_of<Family::vision>,
       block::patches, "vit-b16"},
      {"latents", "Patches of a noisy picture become vectors, its time and label one more", Place::front,
       is_of<Family::diffusion>, block::latents, "dit-xl2"},
      {"tables", "Numbers go through an MLP; rows of tables that ranks share out are added up", Place::front,
       is_of<Family::recommender>, block::tables, "dlrm"},
      {"experts", "Attention, and an MLP of the experts that a token takes", Place::layer, has_experts, block::decoder,
       "mixtral-8x7b"},
      {"latent", "Attention with keys and values from few numbers, and an MLP or experts", Place::layer, is_latent,
       block::decoder, "deepseek-v3"},
      {"transformer", "Attention, and an MLP", Place::layer, is_layer, block::decoder, "llama3-8b"},
      {"modulated", "Attention, and an MLP; time and label scale, shift and gate both (adaLN-Zero)", Place::layer,
       is_of<Family::diffusion>, block::modulated, "dit-xl2"},
      {"product", "A product with a matrix", Place::layer, is_of<Family::mlp>, block::product, "mlp-6"},
      {"prediction", "A layer for one more word ahead (multi-token prediction)", Place::prediction, predicts_more,
       block::prediction, "deepseek-v3"},
      {"head", "A vector becomes a number for each word, and their loss", Place::end, is_of<Family::decoder>,
       block::head, "llama3-8b"},
      {"classifier", "The class token becomes a number for each class, and their loss", Place::end,
       is_of<Family::vision>, block::classifier, "vit-b16"},
      {"denoiser", "A vector becomes the noise of its patch, and its loss", Place::end, is_of<Family::diffusion>,
       block::denoiser, "dit-xl2"},
      {"interaction", "Products of pairs of vectors go through an MLP", Place::end, is_of<Family::recommender>,
       block::interaction, "dlrm"},
  });
  return rows;
}

Graph block_graph(Place place, const Model& model, const Block& layer, const Batch& batch) {
  for (const BlockRow& row : block_rows())
    if (row.place == place && row.is(model, layer)) return row.graph(model, layer, batch);
  CHAKRA_ASSERT(place != Place::layer);
  return {};
}

std::vector<BlockKind> block_kinds() {
  std::vector<BlockKind> kinds;
  for (const BlockRow& row : block_rows()) {
    const ModelRow* const sample = find_model(row.sample);
    CHAKRA_ASSERT(sample);
    const Model& model = sample->model;
    std::string operators;
    const Graph graph = row.graph(model, model.layers.empty() ? Block{} : model.block(model.layers.size() - 1), {1, 1});
    for (const Op& op : graph.ops) operators += (operators.empty() ? "" : ", ") + op.name;
    kinds.push_back({row.name, place_name(row.place), row.description, row.sample, std::move(operators)});
  }
  return kinds;
}

}  // namespace chakra::model
