// The kinds of blocks that models are made of, a row each: what is before the layers, the layers, what is after them.
#pragma once

#include <span>
#include <string_view>

#include "chakra/model/operators.h"

namespace chakra::model {

struct BlockRow {
  enum class Place : uint8_t { front, layer, prediction, end };
  std::string_view name, description;
  Place place;
  /// Whether a model has it there; of a layer, whether it is of this kind.
  bool (*is)(const Model& model, const Block& layer);
  /// `layer`: that of this kind; of a prediction the last one.
  Graph (*graph)(const Model& model, const Block& layer, const Batch& batch);
  std::string_view sample;  ///< a model that has it
};
std::span<const BlockRow> block_rows();

/// Of the first row that the model has there. Without operators where there is none.
Graph block_graph(BlockRow::Place place, const Model& model, const Block& layer, const Batch& batch);

/// Adapters of the model; rank 0: none.
struct Lora {
  int64_t rank = 0;
  bool mlp = true;  ///< of the MLP's products too, not only of attention's
};
/// The same with all weights frozen, and adapters beside the products of attention and of MLPs that are no experts.
/// Requires a rank of at least 1.
Graph adapted(const Graph& graph, const Lora& lora);
/// Elements of its weights that are not frozen, of all ranks together.
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

}  // namespace chakra::model
