// Blocks of models of plain numbers: the paper's MLPs, and recommenders (DLRM, arXiv 1906.00091).
#include "chakra/model/blocks.h"
#include "chakra/model/writer.h"

namespace chakra::model::block {
namespace {

/// Every data-parallel rank has all of it.
size_t write_chain(Writer& w, const std::string& name, size_t x, const std::vector<int64_t>& widths) {
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string here = name + std::to_string(i);
    x = w.matmul(here, x, {Dim::inner, real(widths[i])}, Dim::none, true);
    x = w.like(OpKind::activation, here + ".activation", {x});
  }
  return x;
}

/// A vector of each table for an example.
std::vector<Extent> vectors_of(const Writer& w, const Model& model) {
  std::vector<Extent> dims = w.example(w.hidden());
  dims.insert(dims.end() - 1, {Dim::tables, real(model.recommender.tables)});
  return dims;
}

}  // namespace

/// The columns of its matrix are dealt out to the tensor-parallel ranks.
Graph product(const Model& model, const Block& layer, const Batch& batch) {
  Writer w(model, batch);
  const size_t x = layer.first ? w.op(OpKind::source, "input", {}, w.example(w.hidden())).output
                               : w.input("input", w.example(w.hidden()));
  w.g.outputs = {w.matmul("product", x, {Dim::inner, real(model.hidden)}, Dim::inner, layer.mlp.bias)};
  return std::move(w.g);
}

/// The tables come first, so that their vectors travel beside the MLP.
Graph tables(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  const Recommender& r = model.recommender;
  Op& op = w.op(OpKind::lookup, "tables", {}, vectors_of(w, model));
  op.reads = real(r.lookups);
  op.weights.push_back({{{Dim::tables, real(r.tables), real(r.rows) / real(r.tables)}, w.hidden()}, Dim::tables});
  const size_t vectors = op.output;
  const size_t x = w.op(OpKind::source, "dense", {}, w.example({Dim::none, real(r.dense)})).output;
  w.g.outputs = {write_chain(w, "bottom", x, r.bottom), vectors};
  return std::move(w.g);
}

Graph interaction(const Model& model, const Block&, const Batch& batch) {
  Writer w(model, batch);
  const Recommender& r = model.recommender;
  const size_t x = w.input("bottom", w.example(w.hidden())), vectors = w.input("tables", vectors_of(w, model));
  Op& op = w.op(OpKind::interact, "interaction", {x, vectors}, w.example({Dim::none, real(interaction_width(model))}));
  op.keys = real(r.tables + 1);
  op.widths = real(model.hidden);
  const size_t y = write_chain(w, "top", op.output, r.top);
  w.op(OpKind::loss, "loss", {y}, w.example({Dim::none, 1}), true).reads = 2;  // what came out, what should
  return std::move(w.g);
}

}  // namespace chakra::model::block
