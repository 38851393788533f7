// Tensors that forward keeps for backward, and activation recomputation.
#include <set>

#include "chakra/base/real.h"
#include "chakra/gen/compiler.h"

namespace chakra::gen {
namespace {

/// Whether backward needs what went in.
bool keeps_inputs(const Op& op) {
  if (op.kind == OpKind::matmul && op.weights[0].frozen) return false;
  switch (op.kind) {
    case OpKind::matmul:
    case OpKind::norm:
    case OpKind::attention:
    case OpKind::activation:
    case OpKind::modulate:
    case OpKind::interact:
    case OpKind::loss:
    case OpKind::combine: return true;
    default: return false;
  }
}

/// A norm with weights, without biases: RMS norm. Eager code keeps what it scales.
bool scales(const Op& op) {
  return op.kind == OpKind::norm && !op.weights.empty() && op.weights[0].dims.back().count == 1;
}

}  // namespace

/// Of attention in several kernels.
double Compiler::kept_scores(const Op& op, const Placements& out) const {
  const Tensor& q = g_.tensors[op.inputs[0]];
  const double scores = elements(q.dims, out, s_.mesh) / q.dims.back().unit * q.dims[1].count;
  // Eager: masked scores, the softmax in 32 bits, its cast. Else the softmax.
  const double softmax = s_.eager ? 4 + 2 * s_.element : s_.element;
  return scores * (softmax + (op.mask ? 1 + s_.element : 0));  // a mask, and the scores that pass it
}

double Compiler::kept_element(const Op& op, size_t input) const {
  if (s_.eager && op.kind == OpKind::norm && !g_.tensors[op.inputs[input]].wide) return 4;
  return element_read(op);
}

double Compiler::kept(Recompute recompute) const {
  if (recompute == Recompute::per_operator && !g_.inputs.empty()) return kept_by_operator();
  std::set<std::tuple<size_t, Placements, double>> tensors;  // with the bytes of an element
  double sum = 0;
  const auto keep = [&](size_t tensor, const Placements& at, double element) {
    if (tensors.emplace(tensor, at, element).second) sum += bytes(tensor, at, element);
  };
  if (recompute == Recompute::full && !g_.inputs.empty()) {
    for (const size_t input : g_.inputs) sum += bytes(input, natural(input));
    return sum;
  }
  for (const Op& op : g_.ops) {
    const Placements out = values_[made_[op.output]].at;
    if (op.mask && op.kind == OpKind::add) sum += elements(g_.tensors[op.output].dims, out, s_.mesh);
    if (op.kind == OpKind::attention && !s_.fused_attention && recompute == Recompute::none)
      sum += kept_scores(op, out);
    // One kernel recomputes the scores from its result. Without 8 bits, the next GEMM keeps that result.
    if (op.kind == OpKind::attention && s_.fused_attention && s_.fp8) keep(op.output, out, 0);
    if (!keeps_inputs(op)) continue;
    const std::vector<Placements> at = needs(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) keep(op.inputs[i], kept_at(op, i, at[i]), kept_element(op, i));
    if (!s_.eager) continue;
    if (scales(op)) sum += bytes(op.output, out);
    if (op.kind == OpKind::activation && op.inputs.size() == 2) sum += bytes(op.inputs[0], at[0]);
  }
  return sum;
}

std::vector<uint8_t> Compiler::stays() const {
  std::vector<uint8_t> stays(g_.ops.size());
  bool first = false;
  for (size_t i = 0; i < g_.ops.size(); ++i) {
    const OpKind kind = g_.ops[i].kind;
    if (kind == OpKind::matmul) first = !first;
    stays[i] = kind == OpKind::matmul ? first : kind == OpKind::attention && s_.fused_attention;
  }
  return stays;
}

std::vector<uint8_t> Compiler::needed(const std::vector<uint8_t>& stays) const {
  std::vector<uint8_t> needed(g_.tensors.size());
  for (size_t i = g_.ops.size(); i-- > 0;) {
    const Op& op = g_.ops[i];
    if (!keeps_inputs(op) && (stays[i] || !needed[op.output])) continue;
    for (const size_t input : op.inputs) needed[input] = true;
  }
  return needed;
}

double Compiler::kept_by_operator() const {
  double sum = 0;
  for (const size_t input : g_.inputs) sum += bytes(input, natural(input));
  const std::vector<uint8_t> stays = this->stays();
  for (size_t i = 0; i < g_.ops.size(); ++i) {
    const size_t output = g_.ops[i].output;
    const Placements& at = values_[made_[output]].at;
    if (stays[i]) sum += bytes(output, at);
    if (settled(at, output) != at) sum += bytes(output, settled(at, output));  // their sum over ranks
  }
  return sum;
}

double Compiler::copies_of_logits() const {
  double sum = 0;
  for (const Op& op : g_.ops) {
    if (op.kind != OpKind::loss) continue;
    const Tensor& logits = g_.tensors[op.inputs[0]];
    const double numbers = elements(logits.dims, values_[made_[op.inputs[0]]].at, s_.mesh);
    if (logits.dims.back().dim == Dim::vocabulary)
      sum += std::max(0.0, s_.logit_bytes - std::min(s_.element, 2.0)) * numbers;
  }
  return sum;
}

}  // namespace chakra::gen
