// Blocks of image models.
#include "chakra/model/blocks.h"
#include "chakra/model/writer.h"

namespace chakra::model::block {

/// A GEMM with each patch is equivalent to a convolution whose stride is the size of a patch.
Graph patches(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  const size_t picture = w.patches();
  const size_t x = w.matmul("patches", picture, w.hidden(), Dim::none, true);
  Op& op = w.op(OpKind::append, "class_token", {x}, w.tokens(w.hidden()));
  op.weights.push_back({{{Dim::none, 1}, w.hidden()}});
  w.g.outputs = {w.positions(op.output)};
  return std::move(w.g);
}

Graph classifier(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  const size_t x = w.norm("head.norm", w.input("head.input", w.tokens(w.hidden())));
  w.classes(w.op(OpKind::select, "class_token", {x}, w.example(w.hidden())).output);
  return std::move(w.g);
}

/// Peebles and Xie 2023 (arXiv 2212.09748), 3.2, as facebookresearch/DiT has it.
Graph latents(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  size_t x = w.matmul("patches", w.patches(), w.hidden(), Dim::none, true);
  x = w.like(OpKind::add, "positions", {x});  // sines, not learned
  size_t time = w.op(OpKind::source, "time.input", {}, w.example({Dim::none, kTimeWidth})).output;
  time = w.condition(w.matmul("time.in", time, w.hidden(), Dim::none, true));
  time = w.condition(w.like(OpKind::activation, "time.activation", {time}));
  time = w.condition(w.matmul("time.out", time, w.hidden(), Dim::none, true));
  Op& label = w.op(OpKind::lookup, "label", {}, w.example(w.hidden()));
  label.weights.push_back({{{Dim::none, real(model.vocabulary)}, w.hidden()}});
  const size_t both[]{time, w.condition(label.output)};
  w.g.outputs = {x, w.condition(w.like(OpKind::add, "condition", {both[0], both[1]}))};
  return std::move(w.g);
}

Graph modulated(const Model& model, const Block& layer, const Batch& batch) {
  Writer w(model, batch);
  const size_t x = w.input("input", w.tokens(w.hidden()));
  const size_t condition = w.condition(w.input("condition", w.example(w.hidden())));
  const size_t numbers = w.modulation(condition, 6);
  size_t y = w.modulate("attention.modulate", w.norm("attention.norm", x), numbers, 2.0 / 6);
  y = w.modulate("attention.gate", w.attention(layer.attention, y), numbers, 1.0 / 6);
  const size_t middle = w.like(OpKind::add, "attention.residual", {x, y});
  y = w.modulate("mlp.modulate", w.norm("mlp.norm", middle), numbers, 2.0 / 6);
  y = w.modulate("mlp.gate", w.mlp("mlp", y, layer.mlp.width, layer.mlp.gated, layer.mlp.bias), numbers, 1.0 / 6);
  w.g.outputs = {w.like(OpKind::add, "mlp.residual", {middle, y}), condition};
  return std::move(w.g);
}

Graph denoiser(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  const size_t x = w.input("head.input", w.tokens(w.hidden()));
  const size_t numbers = w.modulation(w.condition(w.input("condition", w.example(w.hidden()))), 2);
  const size_t y = w.modulate("head.modulate", w.norm("head.norm", x), numbers, 1);
  const Extent noise{Dim::none, real(model.noise_width)};
  const size_t out = w.matmul("head", y, noise, Dim::none, true);
  w.op(OpKind::loss, "loss", {out}, w.tokens({Dim::none, 1}), true).reads = 2;  // what came out, what should
  return std::move(w.g);
}

}  // namespace chakra::model::block
