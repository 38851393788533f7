// The kinds of blocks in models, a row each: before the layers, the layers, after the layers.
#pragma once

#include <span>
#include <string_view>

#include "chakra/gen/operators.h"

namespace chakra::gen {

struct BlockRow {
  enum class Place : uint8_t { front, layer, prediction, end };
  std::string_view name, description;
  Place place;
  /// Return whether a model has this block at that place; for a layer, whether the layer is of this kind.
  bool (*is)(const Model& model, const Block& layer);
  /// `layer`: the layer of this kind; for a prediction, the last layer.
  Graph (*graph)(const Model& model, const Block& layer, const Batch& batch);
  std::string_view sample;  ///< a model with this block
};
std::span<const BlockRow> block_rows();

/// Return the graph of the first row that the model has at that place; without operators if no row fits.
Graph block_graph(BlockRow::Place place, const Model& model, const Block& layer, const Batch& batch);

/// Adapters of the model; rank 0: none.
struct Lora {
  int64_t rank = 0;
  bool mlp = true;  ///< also for MLPs, not only for attention
};
/// Return the graph with all weights frozen, and adapters beside the matrix multiplications
/// of attention and of MLPs other than experts. Requires a rank of at least 1.
Graph adapted(const Graph& graph, const Lora& lora);
/// Return the elements of the weights that are not frozen, over all ranks.
double trained(const Graph& graph);

namespace block {

Graph embedding(const Model& model, const Block&, const Batch& batch);
Graph decoder(const Model& model, const Block& layer, const Batch& batch);
Graph prediction(const Model& model, const Block& layer, const Batch& batch);
Graph head(const Model& model, const Block&, const Batch& batch);
Graph patches(const Model& model, const Block&, const Batch& batch);
Graph classifier(const Model& model, const Block&, const Batch& batch);
Graph latents(const Model& model, const Block&, const Batch& batch);
Graph modulated(const Model& model, const Block& layer, const Batch& batch);
Graph denoiser(const Model& model, const Block&, const Batch& batch);
Graph product(const Model& model, const Block& layer, const Batch& batch);
Graph tables(const Model& model, const Block&, const Batch& batch);
Graph interaction(const Model& model, const Block&, const Batch& batch);

}  // namespace block

}  // namespace chakra::gen
