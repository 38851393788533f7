// Blocks of models of words; a vision transformer's layers are the same.
#include "chakra/model/blocks.h"
#include "chakra/model/writer.h"

namespace chakra::model::block {
namespace {

/// What comes out of the layer.
size_t write_layer(Writer& w, const Block& block, size_t x) {
  const bool after = block.norms >= 4;
  const auto second = [&](size_t in) {
    return block.experts ? w.experts(*block.experts, in)
                         : w.mlp("mlp", in, block.mlp.width, block.mlp.gated, block.mlp.bias);
  };
  const size_t first = w.norm("attention.norm", x);
  size_t y = w.attention(block.attention, first);
  if (block.parallel) {
    const size_t in = block.norms >= 2 ? w.norm("mlp.norm", x) : first;
    y = w.like(OpKind::add, "mlp.sum", {y, second(in)});
    return w.like(OpKind::add, "residual", {x, y}, true);
  }
  if (after) y = w.norm("attention.post_norm", y);
  const size_t middle = w.like(OpKind::add, "attention.residual", {x, y}, true);
  y = second(w.norm("mlp.norm", middle));
  if (after) y = w.norm("mlp.post_norm", y);
  return w.like(OpKind::add, "mlp.residual", {middle, y}, true);
}

size_t look_up(Writer& w, const Model& model, bool borrowed) {
  Op& op = w.op(OpKind::lookup, "embedding", {}, w.tokens(w.hidden()));
  op.weights.push_back({{{Dim::vocabulary, real(model.vocabulary)}, w.hidden()}, Dim::vocabulary, borrowed});
  return op.output;
}

}  // namespace

Graph embedding(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  size_t x = look_up(w, model, false);
  if (model.learned_positions > 0) x = w.positions(x);
  if (model.embedding_norm) x = w.norm("embedding.norm", x);
  w.g.outputs = {x};
  return std::move(w.g);
}

Graph decoder(const Model& model, const Block& layer, const Batch& batch) {
  Writer w(model, batch);
  const size_t x = w.input("input", w.tokens(w.hidden()));
  w.g.outputs = {write_layer(w, layer, x)};
  return std::move(w.g);
}

/// DeepSeek-V3 (arXiv 2412.19437), 2.2: what came out for a word, and the next word, become one vector.
Graph prediction(const Model& model, const Block& layer, const Batch& batch) {
  Writer w(model, batch);
  const size_t x = w.input("input", w.tokens(w.hidden()));
  const size_t before = w.norm("hidden_norm", x);
  const size_t word = w.norm("embedding_norm", look_up(w, model, true));
  const Extent both{Dim::hidden, 2 * real(model.hidden)};
  const size_t pair = w.op(OpKind::append, "pair", {before, word}, w.tokens(both)).output;
  w.g.outputs = {write_layer(w, layer, w.matmul("projection", pair, w.hidden(), Dim::none, false))};
  return std::move(w.g);
}

Graph head(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  size_t x = w.input("head.input", w.tokens(w.hidden()));
  if (model.final_norm) x = w.norm("head.norm", x);
  w.classes(x);
  return std::move(w.g);
}

}  // namespace chakra::model::block
