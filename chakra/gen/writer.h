// Writes the graph of a block, operator by operator: norms,
// attention, MLPs and experts, which several kinds of blocks share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chakra/gen/operators.h"
#include "chakra/gen/real.h"

namespace chakra::gen {

class Writer {
 public:
  Graph g;

  Writer(const Model& model, const Batch& batch) : m_(model), b_(batch) {}

  std::vector<Extent> tokens(Extent width) const {
    return {{Dim::batch, b_.sequences}, {Dim::sequence, b_.tokens}, width};
  }
  Extent hidden() const { return {Dim::hidden, real(m_.hidden)}; }

  size_t tensor(std::string name, std::vector<Extent> dims, bool wide = false) {
    g.tensors.push_back({std::move(name), std::move(dims), wide});
    return g.tensors.size() - 1;
  }
  Op& op(OpKind kind, std::string name, std::vector<size_t> inputs, std::vector<Extent> dims, bool wide = false) {
    const size_t output = tensor(name, std::move(dims), wide);
    g.ops.push_back({kind, std::move(name), std::move(inputs), output, {}});
    return g.ops.back();
  }
  const std::vector<Extent>& dims(size_t t) const { return g.tensors[t].dims; }
  std::vector<Extent> example(Extent width) const { return {{Dim::batch, b_.sequences}, width}; }
  /// Add an input from the previous part.
  size_t input(std::string name, std::vector<Extent> dims) {
    g.inputs.push_back(tensor(std::move(name), std::move(dims)));
    return g.inputs.back();
  }
  size_t condition(size_t t) {
    g.tensors[t].condition = true;
    return t;
  }

  /// Keep the last matrix multiplication out of 8 bits: it has few numbers, or makes a decision.
  size_t precise(size_t t) {
    g.ops.back().precise = true;
    return t;
  }
  /// `in`: the part of the input's last dimension to multiply, if not all of it.
  size_t matmul(const std::string& name, size_t x, Extent out, Dim cut, bool bias, Extent in = {}) {
    std::vector<Extent> result = dims(x);
    if (in.dim == Dim::none) in = result.back();
    Weight matrix{{in, out}, cut};
    if (result[0].dim == Dim::experts) matrix.dims.insert(matrix.dims.begin(), result[0]);
    result.back() = out;
    Op& op = this->op(OpKind::matmul, name, {x}, std::move(result));
    op.weights.push_back(std::move(matrix));
    if (!bias) return op.output;
    Weight numbers{{out}, cut == out.dim ? cut : Dim::none};
    if (op.weights[0].dims.size() == 3) numbers.dims.insert(numbers.dims.begin(), {dims(x)[0], Extent{}});
    op.weights.push_back(std::move(numbers));
    return op.output;
  }
  /// `width`: elements that are normalised together.
  size_t norm(const std::string& name, size_t x, double width) {
    const Extent last = dims(x).back();
    // Weights for each number of the heads are dealt out with the heads.
    const bool all_heads = (last.dim == Dim::heads || last.dim == Dim::kv_heads) && width == last.count * last.unit;
    Op& op = this->op(OpKind::norm, name, {x}, dims(x));
    op.weights.push_back(
        {{{all_heads ? last.dim : Dim::none, all_heads ? last.count : width, all_heads ? last.unit : 1},
          {Dim::none, (m_.norm_weight ? 1.0 : 0.0) + (m_.norm_bias ? 1.0 : 0.0)}},
         all_heads ? last.dim : Dim::none});
    return op.output;
  }
  size_t norm(const std::string& name, size_t x) { return norm(name, x, real(m_.hidden)); }
  size_t like(OpKind kind, const std::string& name, std::vector<size_t> inputs, bool mask = false) {
    std::vector<Extent> same = dims(inputs[0]);
    Op& op = this->op(kind, name, std::move(inputs), std::move(same));
    op.mask = mask && b_.dropout;
    return op.output;
  }

  /// Add learned positions.
  size_t positions(size_t x) {
    Op& op = this->op(OpKind::lookup, "positions", {}, tokens(hidden()));
    op.weights.push_back({{{Dim::none, real(m_.learned_positions)}, hidden()}});
    return like(OpKind::add, "embedding.sum", {x, op.output}, true);
  }
  size_t patches() {
    const Extent count{Dim::sequence, real(m_.patches.count)}, width{Dim::none, real(m_.patches.width)};
    return op(OpKind::source, "picture", {}, {{Dim::batch, b_.sequences}, count, width}).output;
  }
  /// Add a number for each class, and the loss: each rank has some of the classes.
  void classes(size_t x) {
    const size_t logits = matmul("head", x, {Dim::vocabulary, real(m_.vocabulary)}, Dim::vocabulary, m_.head_bias);
    std::vector<size_t> inputs{logits};
    std::vector<Extent> one = dims(x);
    one.back() = {Dim::none, 1};
    for (const auto& [name, reads] : {std::pair("loss.max", 1.0), {"loss.target", 0.0}, {"loss.sum", 1.0}}) {
      Op& number = op(OpKind::reduce, name, {logits}, one, true);
      number.reads = reads;
      inputs.push_back(number.output);
    }
    op(OpKind::loss, "loss", inputs, one, true).reads = 0;
  }
  /// Return `times` numbers for each element of a token's vector.
  size_t modulation(size_t x, double times) {
    const size_t active = condition(like(OpKind::activation, "modulation.activation", {x}));
    return condition(precise(matmul("modulation", active, {Dim::inner, times * real(m_.hidden)}, Dim::inner, true)));
  }
  /// `part`: the share of the numbers that this operator uses.
  size_t modulate(const std::string& name, size_t x, size_t numbers, double part) {
    std::vector<Extent> same = dims(x);
    Op& op = this->op(OpKind::modulate, name, {x, numbers}, std::move(same));
    op.reads = part;
    return op.output;
  }

  /// `width`: of a head's output, if a part of the output is not multiplied.
  size_t per_head(const std::string& name, size_t x, int64_t in, int64_t out, int64_t width) {
    std::vector<Extent> result = dims(x);
    const double heads = result.back().count;
    result.back().unit = real(width);
    Op& op = this->op(OpKind::per_head, name, {x}, std::move(result));
    op.weights.push_back({{{Dim::heads, heads}, {Dim::none, real(in)}, {Dim::none, real(out)}}, Dim::heads});
    return op.output;
  }

  size_t mlp(const std::string& name, size_t x, int64_t width, bool gated, bool bias) {
    const Extent inner{Dim::inner, real(width)};
    std::vector<size_t> in;
    if (gated) in.push_back(matmul(name + ".gate", x, inner, Dim::inner, bias));
    in.push_back(matmul(name + ".up", x, inner, Dim::inner, bias));
    const size_t active = like(OpKind::activation, name + ".activation", in);
    return matmul(name + ".down", active, hidden(), Dim::inner, bias);
  }

  size_t attention(const Attention& a, size_t x) {
    const bool latent = a.kv_rank > 0, rotary = m_.family == Family::decoder && m_.learned_positions == 0;
    const bool over_latents = latent && b_.cached && b_.cached->over_latents;
    const Extent heads{Dim::heads, real(a.heads), real(a.head_dim)};
    size_t q = x;
    if (latent && a.q_rank > 0) {
      q = matmul("attention.q_down", q, {Dim::latent, real(a.q_rank)}, Dim::none, a.q_bias);
      q = norm("attention.q_norm", q, real(a.q_rank));
    }
    q = matmul(latent && a.q_rank > 0 ? "attention.q_up" : "attention.q", q, heads, Dim::heads, q == x && a.q_bias);
    std::vector<size_t> inputs{q};
    double widths = real(a.head_dim + a.value_dim);
    if (latent) {
      const Extent both{Dim::latent, real(a.kv_rank + a.rope_dim)};
      size_t kv = matmul("attention.kv_down", x, both, Dim::none, a.kv_bias);
      kv = norm("attention.kv_norm", kv, real(a.kv_rank));
      const Extent wide{Dim::kv_heads, real(a.heads), real(a.head_dim - a.rope_dim + a.value_dim)};
      if (!over_latents) kv = matmul("attention.kv_up", kv, wide, Dim::kv_heads, false, {Dim::latent, real(a.kv_rank)});
      inputs.push_back(kv);
    } else {
      inputs.push_back(
          matmul("attention.k", x, {Dim::kv_heads, real(a.kv_heads), real(a.head_dim)}, Dim::kv_heads, a.kv_bias));
      inputs.push_back(
          matmul("attention.v", x, {Dim::kv_heads, real(a.kv_heads), real(a.value_dim)}, Dim::kv_heads, a.kv_bias));
    }
    if (a.q_norm > 0) inputs[0] = norm("attention.q_norm", inputs[0], real(a.q_norm));
    if (a.k_norm > 0) inputs[1] = norm("attention.k_norm", inputs[1], real(a.k_norm));
    if (rotary) inputs[0] = like(OpKind::rotate, "attention.rotate_q", {inputs[0]});
    if (over_latents) {
      inputs[1] = like(OpKind::rotate, "attention.rotate_k", {inputs[1]});
      inputs[0] = per_head("attention.q_absorb", inputs[0], a.head_dim - a.rope_dim, a.kv_rank, a.kv_rank + a.rope_dim);
      widths = real(2 * a.kv_rank + a.rope_dim);
    } else if (latent) {  // the rotary numbers of a token become a part of each head's key
      const Extent whole{Dim::kv_heads, real(a.heads), widths};
      inputs[1] = this->op(OpKind::rotate, "attention.rotate_k", {inputs[1]}, tokens(whole)).output;
    } else if (rotary) {
      inputs[1] = like(OpKind::rotate, "attention.rotate_k", {inputs[1]});
    }
    const int64_t value = over_latents ? a.kv_rank : a.value_dim;
    Op& op = this->op(OpKind::attention, "attention", inputs, tokens({Dim::heads, real(a.heads), real(value)}));
    op.keys = b_.cached ? b_.cached->keys : average_keys(b_.tokens, m_.causal, a.window);
    if (b_.cached) {
      op.cache = {{Dim::batch, b_.sequences}, {Dim::none, b_.cached->tokens}, cache_extent(a, over_latents)};
      op.cache_element = b_.cached->element;
      op.met = b_.cached->met;
    }
    op.widths = widths;
    op.mask = b_.dropout;
    if (a.sinks) op.weights.push_back({{{Dim::heads, real(a.heads)}}, Dim::heads});
    size_t y = op.output;
    if (over_latents) y = per_head("attention.v_absorb", y, a.kv_rank, a.value_dim, a.value_dim);
    return matmul("attention.out", y, hidden(), Dim::heads, a.out_bias);
  }

  size_t experts(const Experts& e, size_t x) {
    const Extent count{Dim::experts, real(e.count)};
    const size_t choice = precise(matmul("router", x, count, Dim::none, e.router_bias));
    const Extent slots{Dim::slots, b_.sequences * b_.tokens * real(e.active) / real(e.count)};
    const size_t routed = op(OpKind::dispatch, "dispatch", {x, choice}, {count, slots, hidden()}).output;
    const size_t done = mlp("experts", routed, e.width, true, e.bias);
    for (Op& op : g.ops)
      if (!op.weights.empty() && op.weights[0].dims[0].dim == Dim::experts) op.choices = real(e.active);
    size_t y = op(OpKind::combine, "combine", {done, choice}, tokens(hidden())).output;
    if (e.shared_width == 0) return y;
    size_t shared = mlp("shared", x, e.shared_width, true, e.shared_bias);
    if (e.shared_gate) {
      const size_t gate = precise(matmul("shared_gate", x, {Dim::none, 1}, Dim::none, false));
      shared = like(OpKind::activation, "shared.scale", {shared, gate});
    }
    return like(OpKind::add, "experts.sum", {y, shared});
  }

 private:
  const Model& m_;
  const Batch& b_;
};

}  // namespace chakra::gen
