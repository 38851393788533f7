#include "chakra/gen/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace chakra::gen {
namespace {

using trace::CommType;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

// About operations and bytes of Adam with parameters kept in 32 bits: reads gradient, parameter and two moments,
// writes parameter and moments.
constexpr double kOptimizerFlops = 12, kOptimizerBytes = 28;

struct Item {
  enum class Kind : uint8_t { forward, backward } kind;
  int64_t chunk, micro;
};

/// One forward, one backward, interleaved where there are virtual stages: Narayanan et al., "Efficient large-scale
/// language model training on GPU clusters using Megatron-LM" (2021), section 2.2.
std::vector<Item> schedule(const StepOptions& o, int64_t stage) {
  std::vector<Item> items;
  const int64_t v = o.virtual_stages, all = o.micro_batches * v;
  const int64_t ahead = v == 1 ? o.pp - stage - 1 : (o.pp - stage - 1) * 2 + (v - 1) * o.pp;
  const int64_t warmup = std::min(ahead, all);
  const auto item = [&](Item::Kind kind, int64_t k) {
    const int64_t turn = k / (o.pp * v), chunk = k / o.pp % v;
    if (v == 1) return Item{kind, 0, k};
    return Item{kind, kind == Item::Kind::forward ? chunk : v - 1 - chunk, turn * o.pp + k % o.pp};
  };
  for (int64_t k = 0; k < warmup; ++k) items.push_back(item(Item::Kind::forward, k));
  for (int64_t k = warmup; k < all; ++k) {
    items.push_back(item(Item::Kind::forward, k));
    items.push_back(item(Item::Kind::backward, k - warmup));
  }
  for (int64_t k = all - warmup; k < all; ++k) items.push_back(item(Item::Kind::backward, k));
  return items;
}

class Stage {
 public:
  Stage(const StageWork& model, const std::vector<int64_t>& first_layers, int64_t stage)
      : m_(model), n_(model), first_layers_(first_layers), stage_(stage) {}

  Result<StageTrace> build() {
    for (const auto& [kind, chunk, micro] : schedule(m_.o, stage_)) {
      const int64_t part = chunk * m_.o.pp + stage_;
      if (kind == Item::Kind::forward) forward(part);
      else backward(part, micro + 1 == m_.o.micro_batches);
      ends_.push_back(n_.computed());
    }
    update();
    if (n_.too_large())
      return fail(Code::usage, "gen.step.large",
                  "a node has more operations or bytes, or takes longer, than can be told");
    return StageTrace{n_.take(), n_.peers()};
  }

 private:
  struct Bucket {
    std::string name;
    double parameters;
    NodeId reduced;
  };

  int64_t parts() const { return m_.o.pp * m_.o.virtual_stages; }
  /// Of a virtual stage, counted through the model.
  int64_t first_layer(int64_t part) const { return first_layers_[static_cast<size_t>(part)]; }
  /// Posted when the item before the one before has ended: one buffer is filled while one is used.
  NodeId buffer_free() const { return ends_.size() < 2 ? kNoNode : ends_[ends_.size() - 2]; }

  // ---- forward -------------------------------------------------------------------------------------------

  void forward(int64_t part) {
    if (part > 0)
      n_.message("recv activations", NodeType::recv, StageNodes::kReceiveForward, -1, 2 * part, buffer_free());
    if (part == 0) {
      n_.compute("embedding", m_.elementwise(m_.s.tokens * m_.s.hidden, 2, 0));
      n_.wait(n_.scatter("embedding.reduce_scatter"));
    }
    for (int64_t layer = first_layer(part); layer < first_layer(part + 1); ++layer) layer_forward(layer);
    if (part + 1 == parts()) {
      n_.compute("head.norm", m_.norm());
      n_.wait(n_.gather("head.all_gather"));
      n_.compute("head", m_.gemm(m_.s.hidden, m_.s.vocabulary));
      n_.compute("loss", m_.elementwise(m_.s.tokens * m_.s.vocabulary, 1, 4));
      if (m_.o.tp > 1)  // largest, sum, and the wanted token's
        n_.wait(n_.collective("loss.all_reduce", CommType::all_reduce, 3 * m_.s.tokens * 4, "tp", StageNodes::kTensor));
      n_.compute("loss.end", m_.elementwise(m_.s.tokens, 4, 4));
    } else {
      n_.message("send activations", NodeType::send, StageNodes::kSendForward, 1, 2 * (part + 1), n_.computed());
    }
  }

  void layer_forward(int64_t layer) {
    const std::string l = fmt::format("layer{}.", layer);
    n_.compute(l + "attention.norm", m_.norm());
    n_.wait(n_.gather(l + "attention.all_gather"));
    n_.compute(l + "attention.q", m_.gemm(m_.s.hidden, m_.s.q));
    n_.compute(l + "attention.k", m_.gemm(m_.s.hidden, m_.s.kv));
    n_.compute(l + "attention.v", m_.gemm(m_.s.hidden, m_.s.kv));
    n_.compute(l + "attention.rotate_q", m_.rotation(m_.s.q));
    n_.compute(l + "attention.rotate_k", m_.rotation(m_.s.kv));
    n_.compute(l + "attention", m_.attention());
    n_.compute(l + "attention.out", m_.gemm(m_.s.q, m_.s.hidden));
    n_.wait(n_.scatter(l + "attention.reduce_scatter"));
    n_.compute(l + "attention.residual", m_.residual());
    n_.compute(l + "mlp.norm", m_.norm());
    n_.wait(n_.gather(l + "mlp.all_gather"));
    if (m_.o.gated) n_.compute(l + "mlp.gate", m_.gemm(m_.s.hidden, m_.s.ffn));
    n_.compute(l + "mlp.up", m_.gemm(m_.s.hidden, m_.s.ffn));
    n_.compute(l + "mlp.activation", m_.activation());
    n_.compute(l + "mlp.down", m_.gemm(m_.s.ffn, m_.s.hidden));
    n_.wait(n_.scatter(l + "mlp.reduce_scatter"));
    n_.compute(l + "mlp.residual", m_.residual());
  }

  // ---- backward ------------------------------------------------------------------------------------------

  void backward(int64_t part, bool last) {
    if (part + 1 < parts())
      n_.message("recv gradients", NodeType::recv, StageNodes::kReceiveBackward, 1, 2 * part + 1, buffer_free());
    if (part + 1 == parts()) {
      n_.compute("loss.grad", m_.elementwise(m_.s.tokens * m_.s.vocabulary, 2, 2));
      n_.compute("head.dgrad", m_.gemm(m_.s.vocabulary, m_.s.hidden));
      const NodeId scattered = n_.scatter("head.grad.reduce_scatter");
      n_.compute("head.wgrad", m_.gemm(m_.s.hidden, m_.s.vocabulary));
      n_.wait(scattered);
      n_.compute("head.norm.grad", StageWork::twice(m_.norm()));
      if (last) reduce("head", m_.s.hidden * (m_.s.vocabulary + 1));
    }
    for (int64_t layer = first_layer(part + 1); layer-- > first_layer(part);) {
      layer_backward(layer);
      if (last) reduce(fmt::format("layer{}", layer), layer_parameters(m_.o, m_.s));
    }
    if (part == 0) {
      n_.wait(n_.gather("embedding.grad.all_gather"));
      n_.compute("embedding.grad", m_.elementwise(m_.s.tokens * m_.s.hidden, 3, 1));
      if (last) reduce("embedding", m_.s.hidden * m_.s.vocabulary);
    } else {
      n_.message("send gradients", NodeType::send, StageNodes::kSendBackward, -1, 2 * (part - 1) + 1, n_.computed());
    }
  }

  /// Gradients of inputs leave before those of the weights are computed.
  void layer_backward(int64_t layer) {
    const std::string l = fmt::format("layer{}.", layer);
    n_.wait(n_.gather(l + "mlp.grad.all_gather"));
    n_.compute(l + "mlp.down.dgrad", m_.gemm(m_.s.hidden, m_.s.ffn));
    n_.compute(l + "mlp.down.wgrad", m_.gemm(m_.s.ffn, m_.s.hidden));
    n_.compute(l + "mlp.activation.grad", StageWork::twice(m_.activation()));
    if (m_.o.gated) n_.compute(l + "mlp.gate.dgrad", m_.gemm(m_.s.ffn, m_.s.hidden));
    n_.compute(l + "mlp.up.dgrad", m_.gemm(m_.s.ffn, m_.s.hidden));
    if (m_.o.gated) n_.compute(l + "mlp.grad.sum", m_.sum(2));
    NodeId scattered = n_.scatter(l + "mlp.grad.reduce_scatter");
    if (m_.o.gated) n_.compute(l + "mlp.gate.wgrad", m_.gemm(m_.s.hidden, m_.s.ffn));
    n_.compute(l + "mlp.up.wgrad", m_.gemm(m_.s.hidden, m_.s.ffn));
    n_.wait(scattered);
    n_.compute(l + "mlp.norm.grad", StageWork::twice(m_.norm()));
    n_.compute(l + "mlp.residual.grad", m_.residual());
    n_.wait(n_.gather(l + "attention.grad.all_gather"));
    n_.compute(l + "attention.out.dgrad", m_.gemm(m_.s.hidden, m_.s.q));
    n_.compute(l + "attention.out.wgrad", m_.gemm(m_.s.q, m_.s.hidden));
    n_.compute(l + "attention.grad", StageWork::twice(m_.attention()));
    n_.compute(l + "attention.rotate_q.grad", m_.rotation(m_.s.q));
    n_.compute(l + "attention.rotate_k.grad", m_.rotation(m_.s.kv));
    n_.compute(l + "attention.q.dgrad", m_.gemm(m_.s.q, m_.s.hidden));
    n_.compute(l + "attention.k.dgrad", m_.gemm(m_.s.kv, m_.s.hidden));
    n_.compute(l + "attention.v.dgrad", m_.gemm(m_.s.kv, m_.s.hidden));
    n_.compute(l + "attention.grad.sum", m_.sum(3));
    scattered = n_.scatter(l + "attention.grad.reduce_scatter");
    n_.compute(l + "attention.q.wgrad", m_.gemm(m_.s.hidden, m_.s.q));
    n_.compute(l + "attention.k.wgrad", m_.gemm(m_.s.hidden, m_.s.kv));
    n_.compute(l + "attention.v.wgrad", m_.gemm(m_.s.hidden, m_.s.kv));
    n_.wait(scattered);
    n_.compute(l + "attention.norm.grad", StageWork::twice(m_.norm()));
    n_.compute(l + "attention.residual.grad", m_.residual());
  }

  // ---- gradients and parameters over the data-parallel ranks ------------------------------------------------

  /// Elements of a rank's share.
  double share(double parameters_of_rank) const { return std::ceil(parameters_of_rank / static_cast<double>(m_.o.dp)); }

  /// The gradients of a bucket are complete: they leave while the rest of the backward pass goes on.
  void reduce(const std::string& name, double parameters_of_rank) {
    const auto dp = static_cast<double>(m_.o.dp), bytes = static_cast<double>(m_.o.gradient_bytes);
    const NodeId reduced = m_.o.dp == 1 ? kNoNode
                                        : n_.over_data(name + ".gradients.reduce_scatter", CommType::reduce_scatter,
                                                       share(parameters_of_rank) * dp * bytes);
    buckets_.push_back({name, parameters_of_rank, reduced});
  }

  /// Each rank updates its share of every bucket and gives it to the others.
  void update() {
    for (const Bucket& bucket : buckets_) {
      const double elements = share(bucket.parameters);
      n_.wait(bucket.reduced);
      n_.compute(
          bucket.name + ".optimizer",
          {elements * kOptimizerFlops, elements * (kOptimizerBytes + static_cast<double>(m_.o.bytes_per_element))});
      if (m_.o.dp > 1)
        n_.over_data(bucket.name + ".parameters.all_gather", CommType::all_gather, elements * m_.s.element);
    }
  }

  const StageWork& m_;
  StageNodes n_;
  const std::vector<int64_t>& first_layers_;
  const int64_t stage_;
  std::vector<NodeId> ends_;  ///< of each item so far, its last computation
  std::vector<Bucket> buckets_;
};

}  // namespace

Result<StageTrace> build_stage(const StageWork& model, const std::vector<int64_t>& first_layers, int64_t stage) {
  return Stage(model, first_layers, stage).build();
}

}  // namespace chakra::gen
