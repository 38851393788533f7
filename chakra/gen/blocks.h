// The kinds of blocks that models are made of, a row each: what is before the layers, the layers, what is after them.
#pragma once

#include <span>
#include <string_view>

#include "chakra/gen/operators.h"

namespace chakra::gen {

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
