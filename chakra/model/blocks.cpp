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
    case Place::prediction: return "after the layers, in parallel to the end";
    case Place::end: return "after the layers";
  }
  return "";
}

}  // namespace

std::span<const BlockRow> block_rows() {
  static constexpr auto rows = std::to_array<BlockRow>({
      {"embedding", "Token embedding lookup; adds learned positions", Place::front, is_of<Family::decoder>,
       block::embedding, "gpt3-175b"},
      {"patches", "Embeds image patches, after a class token", Place::front, is_of<Family::vision>, block::patches,
       "vit-b16"},
      {"latents", "Embeds patches of a noisy image, and its time and label", Place::front, is_of<Family::diffusion>,
       block::latents, "dit-xl2"},
      {"tables", "An MLP on dense features, and sums of embedding lookups in sharded tables", Place::front,
       is_of<Family::recommender>, block::tables, "dlrm"},
      {"experts", "Attention, and a mixture of experts", Place::layer, has_experts, block::decoder, "mixtral-8x7b"},
      {"latent", "Latent attention (compressed keys and values), and an MLP or experts", Place::layer, is_latent,
       block::decoder, "deepseek-v3"},
      {"transformer", "Attention, and an MLP", Place::layer, is_layer, block::decoder, "llama3-8b"},
      {"modulated", "Attention, and an MLP; time and label scale, shift and gate both (adaLN-Zero)", Place::layer,
       is_of<Family::diffusion>, block::modulated, "dit-xl2"},
      {"product", "A matrix multiplication", Place::layer, is_of<Family::mlp>, block::product, "mlp-6"},
      {"prediction", "A layer of multi-token prediction", Place::prediction, predicts_more, block::prediction,
       "deepseek-v3"},
      {"head", "Projection to the logits of the vocabulary, and the loss", Place::end, is_of<Family::decoder>,
       block::head, "llama3-8b"},
      {"classifier", "Projection of the class token to class logits, and the loss", Place::end, is_of<Family::vision>,
       block::classifier, "vit-b16"},
      {"denoiser", "Prediction of the noise of each patch, and the loss", Place::end, is_of<Family::diffusion>,
       block::denoiser, "dit-xl2"},
      {"interaction", "Dot products of pairs of vectors, and an MLP", Place::end, is_of<Family::recommender>,
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
