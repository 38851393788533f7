// What operators cost: operations and bytes, the kernel that does them, what stays in memory.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "chakra/base/real.h"
#include "chakra/gen/compiler.h"

namespace chakra::gen {

std::string named_kernel(std::string_view name, std::initializer_list<double> sizes) {
  constexpr double kMost = 1e15;
  std::string text(name);
  for (const double size : sizes) {
    if (!(size >= 1 && size <= kMost && size == std::floor(size))) return "";
    text += (text.size() == name.size() ? ":" : ",") + std::to_string(static_cast<int64_t>(size));
  }
  return text;
}

double Spread::load() const {
  if (choices.empty()) return 1;
  const auto sum = static_cast<double>(std::accumulate(choices.begin(), choices.end(), int64_t{0}));
  return static_cast<double>(choices[static_cast<size_t>(place)]) * static_cast<double>(choices.size()) / sum;
}

double Compiler::count(const std::vector<Extent>& dims, const Placements& at) const {
  const bool taken = dims.size() > 1 && dims[1].dim == Dim::slots && at[index(Axis::ep)] == sharded(Dim::experts);
  return elements(dims, at, s_.mesh) * (taken ? s_.load() : 1);
}

double Compiler::bytes(size_t tensor, const Placements& at, double element) const {
  const Tensor& t = g_.tensors[tensor];
  return count(t.dims, at) * (element > 0 ? element : t.wide ? 4 : s_.element);
}

Work Compiler::matmul(const Op& op, const Placements& x, Product product) const {
  const Weight& matrix = op.weights[0];
  const Placements w = weight_at(matrix);
  const std::vector<Extent>& dims = g_.tensors[op.inputs[0]].dims;
  const double rows = count({dims.begin(), dims.end() - 1}, x);
  const double in = elements({in_of(matrix)}, w, s_.mesh), out = elements({matrix.dims.back()}, w, s_.mesh);
  const double flops = 2 * rows * in * out, matrix_bytes = weights_read(op, x);
  if (!reads_fp8(op)) return {flops, s_.element * rows * (in + out) + matrix_bytes};
  switch (product) {  // 8 bits are read, what comes out has the model's element
    case Product::forward: return {flops, rows * (in + s_.element * out) + matrix_bytes / s_.element};
    case Product::input_gradient: return {flops, rows * (out + s_.element * in) + matrix_bytes / s_.element};
    case Product::weight_gradient: return {flops, rows * (in + out) + matrix_bytes};
  }
  return {};
}

/// Bytes of the matrix. Of experts, those of this rank that at least one token chooses, on average: tokens choose
/// independently, each expert with the same probability (of a skewed load, the mean of the rank's experts).
double Compiler::weights_read(const Op& op, const Placements& x) const {
  const Weight& matrix = op.weights[0];
  const double all = s_.element * elements(matrix.dims, weight_at(matrix), s_.mesh);
  if (!is_expert(matrix)) return all;
  const double usual = std::min(1.0, op.choices / matrix.dims[0].count);  // of a token, for one expert
  const double tokens = elements({g_.tensors[op.inputs[0]].dims[1]}, x, s_.mesh) / usual;
  const double chosen = usual * s_.load();
  return chosen < 1 ? all * -std::expm1(tokens * std::log1p(-chosen)) : all;
}

double Compiler::cache_read(const Op& op, const std::vector<Placements>& inputs) const {
  return op.cache.empty() ? 0 : op.cache_element * elements(op.cache, inputs[1], s_.mesh);
}

std::string Compiler::product(const Op& op, const Placements& x, const std::array<size_t, 3>& order) const {
  const Weight& matrix = op.weights[0];
  if (is_expert(matrix)) return experts(op, x);
  const Placements w = weight_at(matrix);
  const std::vector<Extent>& dims = g_.tensors[op.inputs[0]].dims;
  const std::array<double, 3> sizes{count({dims.begin(), dims.end() - 1}, x),
                                    elements({matrix.dims.back()}, w, s_.mesh), elements({in_of(matrix)}, w, s_.mesh)};
  return named_kernel("gemm", {sizes[order[0]], sizes[order[1]], sizes[order[2]]});
}

/// One of the GEMMs of a layer's experts. The tokens that have come to this rank choose among its experts only.
std::string Compiler::experts(const Op& op, const Placements& x) const {
  const Weight& matrix = op.weights[0];
  const Placements w = weight_at(matrix);
  const std::vector<Extent>& dims = g_.tensors[op.inputs[0]].dims;
  const double count = elements({matrix.dims[0]}, w, s_.mesh), chosen = this->count({dims.begin(), dims.end() - 1}, x);
  const double in = elements({in_of(matrix)}, w, s_.mesh), out = elements({matrix.dims.back()}, w, s_.mesh);
  const bool up = in_of(matrix).dim == Dim::hidden;
  const double choices = std::min(op.choices, count);
  return named_kernel("experts", {std::max(1.0, std::round(chosen / std::max(1.0, choices))), up ? in : out,
                                  up ? out : in, count, choices, 1});
}

/// Attention beside a cache: decode, or prefill.
std::string Compiler::cached_attention(const Op& op, const std::vector<Placements>& inputs) const {
  constexpr double kLatent = 512 + 64, kBoth = 512 + kLatent, kHead = 192, kHeads = 192 + 128;
  const Extent& q = g_.tensors[op.inputs[0]].dims.back();
  const double heads = elements({q}, inputs[0], s_.mesh) / q.unit, tokens = std::round(op.met.tokens);
  const double sequences = std::round(op.met.sequences);
  const std::string way = op.cache_element == 1 && s_.element > 1 ? ".kv_f8" : "";
  if (op.met.decode && q.unit == kLatent && op.widths == kBoth)
    return named_kernel("latent_decode" + way, {sequences, tokens, heads});
  const std::string part = op.met.whole && 2 * op.keys == tokens ? "" : ".part";
  if (!op.met.decode && q.unit == kHead && op.widths == kHeads)
    return named_kernel("latent_attention" + part, {sequences, tokens, heads});
  if (op.widths != 2 * q.unit) return "";
  const Extent& kv = op.cache.back();
  const double kv_heads = elements({kv}, inputs[1], s_.mesh) / kv.unit;
  if (!op.met.decode) return named_kernel("attention" + part, {sequences, tokens, heads, kv_heads, q.unit});
  const double window = std::min(tokens, std::round(op.keys));
  return named_kernel("decode_attention" + way, {sequences, tokens, heads, kv_heads, q.unit, window});
}

std::string Compiler::kernel(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const {
  const std::vector<Extent>& dims = g_.tensors[op.output].dims;
  const double rows = count({dims.begin(), dims.end() - 1}, output),
               width = bytes(op.output, output) / s_.element / rows;
  switch (op.kind) {
    case OpKind::matmul: return product(op, inputs[0], {0, 1, 2});
    case OpKind::norm: return named_kernel("norm", {rows, width});
    case OpKind::lookup: return named_kernel("embedding", {rows, width});
    case OpKind::rotate: return named_kernel("rope", {rows, width});
    case OpKind::add: return op.inputs.size() == 2 ? named_kernel("add", {rows, width}) : "";
    case OpKind::activation: return op.inputs.size() == 2 ? named_kernel("activation", {rows, width}) : "";
    case OpKind::attention: {
      const std::vector<Extent>&q = g_.tensors[op.inputs[0]].dims, &k = g_.tensors[op.inputs[1]].dims;
      const double tokens = q[1].count, width_of_head = q.back().unit;
      if (s_.fused_attention && !op.cache.empty()) return cached_attention(op, inputs);
      // Only where keys and values are as wide as queries.
      if (!s_.fused_attention || op.inputs.size() < 3 || op.widths != 2 * width_of_head) return "";
      const bool whole = s_.mesh.of(Axis::cp) == 1 && op.keys == tokens / 2;  // causal, to all of the sequence
      return named_kernel(
          whole ? "attention" : "attention.part",
          {elements({q[0]}, inputs[0], s_.mesh), tokens, elements({q.back()}, inputs[0], s_.mesh) / width_of_head,
           elements({k.back()}, inputs[1], s_.mesh) / k.back().unit, width_of_head});
    }
    default: return "";
  }
}

Compiler::AttentionWork Compiler::attention(const Op& op, const std::vector<Placements>& inputs) const {
  const std::vector<Extent>& q = g_.tensors[op.inputs[0]].dims;
  const double width = q.back().unit, queries = elements(q, inputs[0], s_.mesh) / width;
  double both = cache_read(op, inputs);  // keys and values
  if (op.cache.empty())
    for (size_t i = 1; i < inputs.size(); ++i) both += bytes(op.inputs[i], inputs[i]);
  const double of_keys = both * width / op.widths, pairs = queries * q[1].count;
  AttentionWork w;
  w.keys = {2 * queries * op.keys * width, bytes(op.inputs[0], inputs[0]) + of_keys};
  w.values = {2 * queries * op.keys * (op.widths - width), both - of_keys + queries * (op.widths - width) * s_.element};
  w.scores = pairs * s_.element;
  w.mask = pairs;
  return w;
}

Work Compiler::work(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const {
  double in = 0;
  for (size_t i = 0; i < inputs.size(); ++i) in += bytes(op.inputs[i], inputs[i]);
  const double out = bytes(op.output, output);
  switch (op.kind) {
    case OpKind::matmul: return matmul(op, inputs[0]);
    case OpKind::per_head: {
      const std::vector<Extent>& part = op.weights[0].dims;
      const double vectors =
          elements(g_.tensors[op.inputs[0]].dims, inputs[0], s_.mesh) / g_.tensors[op.inputs[0]].dims.back().unit;
      return {2 * vectors * part[1].count * part[2].count, in + out + weights_read(op, inputs[0])};
    }
    case OpKind::attention: {
      const AttentionWork w = attention(op, inputs);
      const double read = op.cache.empty() ? in : bytes(op.inputs[0], inputs[0]) + cache_read(op, inputs);
      const double scores = s_.fused_attention ? 0 : 4 * w.scores + (op.mask ? 2 * w.scores + w.mask : 0);
      const double parts = rings(op) ? real(s_.mesh.of(Axis::cp)) : 1;  // of keys and values; each has its result
      return {w.keys.flops + w.values.flops, parts * (read + out) + scores};
    }
    case OpKind::reduce: return {0, op.reads * in + out};
    case OpKind::lookup: return {0, (1 + op.reads) * out};
    case OpKind::source:
    case OpKind::select:
    case OpKind::dispatch: return {0, 2 * out};
    case OpKind::modulate: return {0, bytes(op.inputs[0], inputs[0]) + op.reads * bytes(op.inputs[1], inputs[1]) + out};
    case OpKind::interact: {
      const double examples = elements({g_.tensors[op.output].dims[0]}, output, s_.mesh);
      return {2 * examples * op.keys * op.keys * op.widths, in + out};
    }
    case OpKind::loss: return {0, op.reads * in + 4 * out};
    default: return {0, in + out};
  }
}

// ---- sums ------------------------------------------------------------------------------------------------------

/// Newton and Schulz, five times: X X', its square, and both times X, where X has the fewer numbers as rows.
void Compiler::add_matrices(const Weight& weight, double elements, Parameters& sum) const {
  constexpr double kTimes = 5;
  const Placements at = weight_at(weight);
  const size_t n = weight.dims.size();
  const double a = gen::elements({weight.dims[n - 2]}, at, s_.mesh),
               b = gen::elements({weight.dims[n - 1]}, at, s_.mesh);
  const double rows = std::min(a, b), columns = std::max(a, b);
  sum.matrices += elements;
  sum.orthogonal_ops += elements / (a * b) * kTimes * (4 * rows * rows * columns + 2 * rows * rows * rows);
}

Parameters Compiler::parameters() const {
  Parameters sum;
  for (const Op& op : g_.ops)
    for (size_t i = 0; i < op.weights.size(); ++i) {
      const Weight& weight = op.weights[i];
      const bool expert = is_expert(weight);
      if (i == 0 && reads_fp8(op)) sum.fp8 += elements(weight.dims, weight_at(weight), s_.mesh);
      const double own = elements(weight.dims, weight_at(weight), s_.mesh);
      if (weight.borrowed || weight.cut == Dim::tables) {
        (weight.borrowed ? sum.borrowed : sum.tables) += own;
        continue;
      }
      (expert ? sum.experts : sum.dense) += own;
      if (weight.frozen) {
        (expert ? sum.frozen_experts : sum.frozen_dense) += own;
        continue;
      }
      sum.largest = std::max(sum.largest, own);
      if (i == 0 && op.kind == OpKind::matmul && weight.cut != Dim::vocabulary) add_matrices(weight, own, sum);
      const double sharers = real(expert ? s_.mesh.of(Axis::etp) * s_.mesh.of(Axis::ep) : s_.mesh.of(Axis::tp));
      (expert ? sum.once_experts : sum.once_dense) += elements(weight.dims, {}, Mesh{}) / sharers;
      const size_t axis = index(expert ? Axis::etp : Axis::tp);
      if (s_.mesh.size[axis] == 1 || weight.cut != Dim::none) continue;
      // Ranks with other tokens have other terms. A bias is added to sums that are complete.
      const Placements out = gradient_at(op.output);
      if (out[axis].kind != Placement::Kind::replicated) (expert ? sum.shared_experts : sum.shared_dense) += own;
    }
  return sum;
}

Reads Compiler::reads() const {
  Reads sum;
  for (const Op& op : g_.ops) {
    const std::vector<Placements> at = needs(op);
    if (op.kind == OpKind::matmul || op.kind == OpKind::per_head)
      sum.parameters += weights_read(op, at[0]) / (reads_fp8(op) ? s_.element : 1);
    if (op.kind == OpKind::lookup) sum.parameters += op.reads * bytes(op.output, values_[made_[op.output]].at);
    sum.cache += cache_read(op, at);
  }
  return sum;
}

double Compiler::largest() const {
  double most = 0;
  for (const Op& op : g_.ops) {
    const std::vector<Placements> at = needs(op);
    double sum = bytes(op.output, values_[made_[op.output]].at);
    for (size_t i = 0; i < op.inputs.size(); ++i) sum += bytes(op.inputs[i], at[i]);
    most = std::max(most, sum);
  }
  return most;
}

double Compiler::passed() const {
  double sum = 0;
  for (const size_t output : g_.outputs) sum += bytes(output, natural(output));
  return sum;
}

}  // namespace chakra::gen
