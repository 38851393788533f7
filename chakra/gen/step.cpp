// A training step of a transformer: the trace of each pipeline stage, and which rank is in which.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/gen/gen.h"

namespace chakra::gen {
namespace {

using trace::ClassJob;
using trace::CommType;
using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr double kMostRanks = 1 << 22;
constexpr double kMostNodes = 50e6;  // of all classes
constexpr double kLargest = 9e15;    // operations of a node x 1e3, bytes: what a double counts exactly

// About operations and bytes of Adam with parameters kept in 32 bits: reads gradient, parameter and two moments,
// writes parameter and moments.
constexpr double kOptimizerFlops = 12, kOptimizerBytes = 28;

tl::unexpected<Error> wrong(const char* tag, std::string text) { return fail(Code::usage, tag, std::move(text)); }

/// Widths as a rank has them, with nothing left to a default.
struct Sizes {
  double tokens;         ///< of a micro-batch
  double token_share;    ///< of them that a rank keeps between the tensor-parallel parts
  double hidden, q, kv;  ///< widths
  double ffn, vocabulary;
  double element;
};

/// The element type, `bytes` bytes large, that models are trained in.
trace::DType dtype(int64_t bytes) {
  switch (bytes) {
    case 1: return trace::DType::f8;
    case 2: return trace::DType::bf16;
    case 4: return trace::DType::f32;
    case 8: return trace::DType::f64;
    default: return trace::DType::unknown;
  }
}

int64_t kv_heads(const StepOptions& o) { return o.kv_heads ? o.kv_heads : o.heads; }
int64_t head_dim(const StepOptions& o) { return o.head_dim ? o.head_dim : o.hidden / o.heads; }

Sizes sizes(const StepOptions& o) {
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double tokens = real(o.sequence) * real(o.micro_batch_size);
  return {.tokens = tokens,
          .token_share = tokens / real(o.tp),
          .hidden = real(o.hidden),
          .q = real(o.heads / o.tp) * real(head_dim(o)),
          .kv = real(std::max<int64_t>(kv_heads(o) / o.tp, 1)) * real(head_dim(o)),
          .ffn = real(o.ffn / o.tp),
          .vocabulary = real((o.vocabulary + o.tp - 1) / o.tp),
          .element = real(o.bytes_per_element)};
}

/// Parameters of one rank.
double layer_parameters(const StepOptions& o, const Sizes& s) {
  return s.hidden * (2 * s.q + 2 * s.kv + (o.gated ? 3 : 2) * s.ffn + 2);
}

/// The first layer of each virtual stage, then the number of layers. Where the layers cannot be dealt out evenly,
/// the embedding and the head count as a layer each, and what then remains goes to the virtual stages behind the first.
std::vector<int64_t> deal_layers(const StepOptions& o) {
  const int64_t stages = o.pp * o.virtual_stages;
  const bool even = o.layers % stages == 0;
  const int64_t dealt = even ? o.layers : o.layers + 2, rest = dealt % stages;
  std::vector<int64_t> first{0};
  for (int64_t s = 0; s < stages; ++s) {
    const bool ends = !even && (s == 0 || s + 1 == stages);
    first.push_back(first.back() + dealt / stages + (s >= 1 && s <= rest) - ends);
  }
  return first;
}

Result<void> check(const StepOptions& o) {
  for (const NumberRow& row : kNumbers)
    if (const int64_t value = o.*row.value; value < row.least || value > row.most)
      return wrong("gen.step.range",
                   fmt::format("{} is {}; from {} to {} are possible", row.name, value, row.least, row.most));
  const auto positive = [](double x) { return x > 0 && x <= 1e24; };
  if (!positive(o.peak_flop_per_s) || !positive(o.memory_bytes_per_s) || !positive(o.efficiency) || o.efficiency > 1)
    return wrong("gen.step.range",
                 "the device's peak and bandwidth are above 0, its efficiency is above 0 and at most 1");
  const auto multiple = [](const char* what, int64_t of, const char* by, int64_t n) -> Result<void> {
    if (of % n == 0) return {};
    return wrong("gen.step.divide", fmt::format("{}, {}, is no multiple of {}, {}", what, of, by, n));
  };
  if (!o.head_dim) CHAKRA_TRY(multiple("hidden", o.hidden, "heads", o.heads));
  CHAKRA_TRY(multiple("heads", o.heads, "kv-heads", kv_heads(o)));
  CHAKRA_TRY(multiple("heads", o.heads, "tp", o.tp));
  if (kv_heads(o) >= o.tp) CHAKRA_TRY(multiple("kv-heads", kv_heads(o), "tp", o.tp));
  else CHAKRA_TRY(multiple("tp", o.tp, "kv-heads", kv_heads(o)));
  CHAKRA_TRY(multiple("ffn", o.ffn, "tp", o.tp));
  CHAKRA_TRY(multiple("sequence", o.sequence, "tp", o.tp));
  if (o.virtual_stages > 1) {
    if (o.pp == 1) return wrong("gen.step.divide", "virtual stages need more than one pipeline stage");
    CHAKRA_TRY(multiple("micro-batches", o.micro_batches, "pp", o.pp));
  }
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double ranks = real(o.tp) * real(o.pp) * real(o.dp), stages = real(o.pp) * real(o.virtual_stages);
  if (ranks > kMostRanks)
    return wrong("gen.step.large", fmt::format("{} ranks; at most {} are possible", ranks, kMostRanks));
  if (stages > real(o.layers) + 2)
    return wrong("gen.step.layers",
                 fmt::format("{} layers cannot be dealt out to {} virtual stages", o.layers, stages));
  if (const double nodes = real(o.micro_batches) * (50 * real(o.layers) + 30 * stages); nodes > kMostNodes)
    return wrong("gen.step.large", fmt::format("about {:.3g} nodes; at most {:.3g} are possible", nodes, kMostNodes));
  return {};
}

/// The trace of one pipeline stage.
class Stage {
 public:
  /// `first_layers` as deal_layers gives them.
  Stage(const StepOptions& options, const std::vector<int64_t>& first_layers, int64_t stage)
      : o_(options), s_(sizes(options)), first_layers_(first_layers), stage_(stage) {}

  Result<void> build() {
    schedule();
    for (const auto& [kind, chunk, micro] : items_) {
      const int64_t part = chunk * o_.pp + stage_;
      if (kind == Item::Kind::forward) forward(part);
      else backward(part, micro + 1 == o_.micro_batches);
      ends_.push_back(computed_);
    }
    update();
    if (too_large_)
      return wrong("gen.step.large", "a node has more operations or bytes, or takes longer, than can be told");
    return {};
  }

  Trace take() { return std::move(b_).finish(); }
  /// Which neighbour stands in each peer slot: -1 the stage before, 1 the one behind.
  const std::vector<int64_t>& peers() const { return peers_; }

 private:
  struct Item {
    enum class Kind : uint8_t { forward, backward } kind;
    int64_t chunk, micro;
  };
  enum Stream : int64_t {
    kCompute,
    kTensor,
    kData,
    kSendForward,
    kSendBackward,
    kReceiveForward,
    kReceiveBackward,
    kStreams
  };
  struct Work {
    double flops, bytes;
  };
  struct Bucket {
    std::string name;
    double parameters;
    NodeId reduced;
  };

  int64_t parts() const { return o_.pp * o_.virtual_stages; }
  /// Of a virtual stage, counted through the model.
  int64_t first_layer(int64_t part) const { return first_layers_[static_cast<size_t>(part)]; }

  /// One forward, one backward, interleaved where there are virtual stages: Narayanan et al., "Efficient large-scale
  /// language model training on GPU clusters using Megatron-LM" (2021), section 2.2.
  void schedule() {
    const int64_t v = o_.virtual_stages, all = o_.micro_batches * v;
    const int64_t ahead = v == 1 ? o_.pp - stage_ - 1 : (o_.pp - stage_ - 1) * 2 + (v - 1) * o_.pp;
    const int64_t warmup = std::min(ahead, all);
    const auto item = [&](Item::Kind kind, int64_t k) {
      const int64_t turn = k / (o_.pp * v), chunk = k / o_.pp % v;
      if (v == 1) return Item{kind, 0, k};
      return Item{kind, kind == Item::Kind::forward ? chunk : v - 1 - chunk, turn * o_.pp + k % o_.pp};
    };
    for (int64_t k = 0; k < warmup; ++k) items_.push_back(item(Item::Kind::forward, k));
    for (int64_t k = warmup; k < all; ++k) {
      items_.push_back(item(Item::Kind::forward, k));
      items_.push_back(item(Item::Kind::backward, k - warmup));
    }
    for (int64_t k = all - warmup; k < all; ++k) items_.push_back(item(Item::Kind::backward, k));
  }

  // ---- nodes -------------------------------------------------------------------------------------------

  NodeId add(std::string_view name, NodeType type, Stream stream) {
    const NodeId n = b_.add(b_.trace.size() + 1, b_.trace.strings.intern(name), type);
    b_.trace.flags.edit(n) = trace::kSaysCpuOrNot;
    b_.trace.lane.edit(n) = b_.lane({trace::Lane::Kind::stream, 0, stream});
    return n;
  }
  void dep(NodeId node, NodeId on, EdgeKind kind) {
    if (on != kNoNode) b_.dep(node, on, static_cast<uint8_t>(kind));
  }
  uint64_t exact(double number) {
    too_large_ |= !(number < kLargest);
    return too_large_ ? 0 : static_cast<uint64_t>(number);
  }

  /// What the next computation, and what leaves before it, waits for besides the computation before it.
  void wait(NodeId node) {
    if (node != kNoNode) awaited_.push_back(node);
  }

  void await(NodeId by) {
    for (const NodeId node : awaited_) dep(by, node, EdgeKind::comm);
  }

  void compute(std::string_view name, const Work& work) {
    const NodeId n = add(name, NodeType::comp, kCompute);
    dep(n, computed_, EdgeKind::stream);
    await(n);
    awaited_.clear();
    computed_ = n;
    const Picoseconds time =
        picoseconds(std::max(work.flops / (o_.peak_flop_per_s * o_.efficiency), work.bytes / o_.memory_bytes_per_s));
    too_large_ |= time >= kLongestPs || !(work.flops < 9e18);
    b_.trace.dur_ps.edit(n) = std::max<Picoseconds>((time + kPsPerNs - 1) / kPsPerNs, 1) * kPsPerNs;
    b_.trace.flags.edit(n) |= trace::kHasDuration;
    b_.trace.num_ops.resize(n + 1);
    b_.trace.tensor_bytes.resize(n + 1);
    b_.trace.op_dtype.resize(n + 1, static_cast<uint8_t>(dtype(o_.bytes_per_element)));
    if (too_large_) return;
    b_.trace.num_ops.edit(n) = static_cast<uint64_t>(work.flops);
    b_.trace.tensor_bytes.edit(n) = exact(work.bytes);
  }

  NodeId collective(std::string_view name, CommType type, double bytes, std::string_view group, Stream stream) {
    const NodeId n = add(name, NodeType::coll, stream);
    dep(n, computed_, EdgeKind::data);
    await(n);
    trace::Comm& comm = b_.comm(n);
    comm.type = type;
    comm.bytes = exact(bytes);
    comm.group = b_.trace.strings.intern(group);
    return n;
  }

  /// What all tensor-parallel ranks need of each other's tokens, and the reverse.
  NodeId gather(std::string_view name) {
    if (o_.tp == 1) return kNoNode;
    return collective(name, CommType::all_gather, s_.token_share * s_.hidden * s_.element, "tp", kTensor);
  }
  NodeId scatter(std::string_view name) {
    if (o_.tp == 1) return kNoNode;
    return collective(name, CommType::reduce_scatter, s_.tokens * s_.hidden * s_.element, "tp", kTensor);
  }

  void message(std::string_view name, NodeType type, Stream stream, int64_t neighbour, int64_t tag, NodeId after) {
    const NodeId n = add(name, type, stream);
    dep(n, after, EdgeKind::data);
    NodeId& before = last_[stream];
    dep(n, before, EdgeKind::stream);
    before = n;
    if (type == NodeType::send) await(n);
    trace::Comm& comm = b_.comm(n);
    comm.bytes = exact(s_.token_share * s_.hidden * s_.element);
    const auto slot = std::find(peers_.begin(), peers_.end(), neighbour);
    (type == NodeType::send ? comm.dst : comm.src) = slot - peers_.begin();
    if (slot == peers_.end()) peers_.push_back(neighbour);
    comm.tag = tag;
    if (type == NodeType::recv) wait(n);
  }
  /// Posted when the item before the one before has ended: one buffer is filled while one is used.
  NodeId buffer_free() const { return ends_.size() < 2 ? kNoNode : ends_[ends_.size() - 2]; }

  // ---- work ----------------------------------------------------------------------------------------------

  Work gemm(double in, double out) const {
    return {2 * s_.tokens * in * out, s_.element * (s_.tokens * (in + out) + in * out)};
  }
  /// Elements read and written, and operations per element.
  Work elementwise(double elements, double tensors, double flops) const {
    return {elements * flops, elements * tensors * s_.element};
  }
  Work attention() const {
    return {4 * s_.tokens * static_cast<double>(o_.sequence) * s_.q * (o_.causal ? 0.5 : 1.0),
            s_.element * s_.tokens * 2 * (s_.q + s_.kv)};
  }
  Work norm() const { return elementwise(s_.token_share * s_.hidden, 2, 4); }
  Work residual() const { return elementwise(s_.token_share * s_.hidden, 3, 1); }
  Work sum(double terms) const { return elementwise(s_.tokens * s_.hidden, terms + 1, terms - 1); }
  Work rotation(double width) const { return elementwise(s_.tokens * width, 2, 3); }
  Work activation() const { return elementwise(s_.tokens * s_.ffn, o_.gated ? 3 : 2, o_.gated ? 5 : 8); }
  static Work twice(const Work& work) { return {2 * work.flops, 2 * work.bytes}; }

  // ---- forward -------------------------------------------------------------------------------------------

  void forward(int64_t part) {
    if (part > 0) message("recv activations", NodeType::recv, kReceiveForward, -1, 2 * part, buffer_free());
    if (part == 0) {
      compute("embedding", elementwise(s_.tokens * s_.hidden, 2, 0));
      wait(scatter("embedding.reduce_scatter"));
    }
    for (int64_t layer = first_layer(part); layer < first_layer(part + 1); ++layer) layer_forward(layer);
    if (part + 1 == parts()) {
      compute("head.norm", norm());
      wait(gather("head.all_gather"));
      compute("head", gemm(s_.hidden, s_.vocabulary));
      compute("loss", elementwise(s_.tokens * s_.vocabulary, 1, 4));
      if (o_.tp > 1)  // largest, sum, and the wanted token's
        wait(collective("loss.all_reduce", CommType::all_reduce, 3 * s_.tokens * 4, "tp", kTensor));
      compute("loss.end", elementwise(s_.tokens, 4, 4));
    } else {
      message("send activations", NodeType::send, kSendForward, 1, 2 * (part + 1), computed_);
    }
  }

  void layer_forward(int64_t layer) {
    const std::string l = fmt::format("layer{}.", layer);
    compute(l + "attention.norm", norm());
    wait(gather(l + "attention.all_gather"));
    compute(l + "attention.q", gemm(s_.hidden, s_.q));
    compute(l + "attention.k", gemm(s_.hidden, s_.kv));
    compute(l + "attention.v", gemm(s_.hidden, s_.kv));
    compute(l + "attention.rotate_q", rotation(s_.q));
    compute(l + "attention.rotate_k", rotation(s_.kv));
    compute(l + "attention", attention());
    compute(l + "attention.out", gemm(s_.q, s_.hidden));
    wait(scatter(l + "attention.reduce_scatter"));
    compute(l + "attention.residual", residual());
    compute(l + "mlp.norm", norm());
    wait(gather(l + "mlp.all_gather"));
    if (o_.gated) compute(l + "mlp.gate", gemm(s_.hidden, s_.ffn));
    compute(l + "mlp.up", gemm(s_.hidden, s_.ffn));
    compute(l + "mlp.activation", activation());
    compute(l + "mlp.down", gemm(s_.ffn, s_.hidden));
    wait(scatter(l + "mlp.reduce_scatter"));
    compute(l + "mlp.residual", residual());
  }

  // ---- backward ------------------------------------------------------------------------------------------

  void backward(int64_t part, bool last) {
    if (part + 1 < parts()) message("recv gradients", NodeType::recv, kReceiveBackward, 1, 2 * part + 1, buffer_free());
    if (part + 1 == parts()) {
      compute("loss.grad", elementwise(s_.tokens * s_.vocabulary, 2, 2));
      compute("head.dgrad", gemm(s_.vocabulary, s_.hidden));
      const NodeId scattered = scatter("head.grad.reduce_scatter");
      compute("head.wgrad", gemm(s_.hidden, s_.vocabulary));
      wait(scattered);
      compute("head.norm.grad", twice(norm()));
      if (last) reduce("head", s_.hidden * (s_.vocabulary + 1));
    }
    for (int64_t layer = first_layer(part + 1); layer-- > first_layer(part);) {
      layer_backward(layer);
      if (last) reduce(fmt::format("layer{}", layer), layer_parameters(o_, s_));
    }
    if (part == 0) {
      wait(gather("embedding.grad.all_gather"));
      compute("embedding.grad", elementwise(s_.tokens * s_.hidden, 3, 1));
      if (last) reduce("embedding", s_.hidden * s_.vocabulary);
    } else {
      message("send gradients", NodeType::send, kSendBackward, -1, 2 * (part - 1) + 1, computed_);
    }
  }

  /// Gradients of inputs leave before those of the weights are computed.
  void layer_backward(int64_t layer) {
    const std::string l = fmt::format("layer{}.", layer);
    wait(gather(l + "mlp.grad.all_gather"));
    compute(l + "mlp.down.dgrad", gemm(s_.hidden, s_.ffn));
    compute(l + "mlp.down.wgrad", gemm(s_.ffn, s_.hidden));
    compute(l + "mlp.activation.grad", twice(activation()));
    if (o_.gated) compute(l + "mlp.gate.dgrad", gemm(s_.ffn, s_.hidden));
    compute(l + "mlp.up.dgrad", gemm(s_.ffn, s_.hidden));
    if (o_.gated) compute(l + "mlp.grad.sum", sum(2));
    NodeId scattered = scatter(l + "mlp.grad.reduce_scatter");
    if (o_.gated) compute(l + "mlp.gate.wgrad", gemm(s_.hidden, s_.ffn));
    compute(l + "mlp.up.wgrad", gemm(s_.hidden, s_.ffn));
    wait(scattered);
    compute(l + "mlp.norm.grad", twice(norm()));
    compute(l + "mlp.residual.grad", residual());
    wait(gather(l + "attention.grad.all_gather"));
    compute(l + "attention.out.dgrad", gemm(s_.hidden, s_.q));
    compute(l + "attention.out.wgrad", gemm(s_.q, s_.hidden));
    compute(l + "attention.grad", twice(attention()));
    compute(l + "attention.rotate_q.grad", rotation(s_.q));
    compute(l + "attention.rotate_k.grad", rotation(s_.kv));
    compute(l + "attention.q.dgrad", gemm(s_.q, s_.hidden));
    compute(l + "attention.k.dgrad", gemm(s_.kv, s_.hidden));
    compute(l + "attention.v.dgrad", gemm(s_.kv, s_.hidden));
    compute(l + "attention.grad.sum", sum(3));
    scattered = scatter(l + "attention.grad.reduce_scatter");
    compute(l + "attention.q.wgrad", gemm(s_.hidden, s_.q));
    compute(l + "attention.k.wgrad", gemm(s_.hidden, s_.kv));
    compute(l + "attention.v.wgrad", gemm(s_.hidden, s_.kv));
    wait(scattered);
    compute(l + "attention.norm.grad", twice(norm()));
    compute(l + "attention.residual.grad", residual());
  }

  // ---- gradients and parameters over the data-parallel ranks ------------------------------------------------

  /// Elements of a rank's share.
  double share(double parameters_of_rank) const { return std::ceil(parameters_of_rank / static_cast<double>(o_.dp)); }

  NodeId over_data(const std::string& name, CommType type, double bytes) {
    const NodeId n = collective(name, type, bytes, "dp", kData);
    dep(n, last_[kData], EdgeKind::stream);
    return last_[kData] = n;
  }

  /// The gradients of a bucket are complete: they leave while the rest of the backward pass goes on.
  void reduce(const std::string& name, double parameters_of_rank) {
    const auto dp = static_cast<double>(o_.dp), bytes = static_cast<double>(o_.gradient_bytes);
    const NodeId reduced = o_.dp == 1 ? kNoNode
                                      : over_data(name + ".gradients.reduce_scatter", CommType::reduce_scatter,
                                                  share(parameters_of_rank) * dp * bytes);
    buckets_.push_back({name, parameters_of_rank, reduced});
  }

  /// Each rank updates its share of every bucket and gives it to the others.
  void update() {
    for (const Bucket& bucket : buckets_) {
      const double elements = share(bucket.parameters);
      wait(bucket.reduced);
      compute(bucket.name + ".optimizer",
              {elements * kOptimizerFlops, elements * (kOptimizerBytes + static_cast<double>(o_.bytes_per_element))});
      if (o_.dp > 1) over_data(bucket.name + ".parameters.all_gather", CommType::all_gather, elements * s_.element);
    }
  }

  const StepOptions& o_;
  const Sizes s_;
  const std::vector<int64_t>& first_layers_;
  const int64_t stage_;

  trace::Builder b_;
  std::vector<Item> items_;
  std::vector<NodeId> ends_;  ///< of each item so far, its last computation
  NodeId computed_ = kNoNode;
  std::array<NodeId, kStreams> last_ = [] {
    std::array<NodeId, kStreams> none{};
    none.fill(kNoNode);
    return none;
  }();
  std::vector<NodeId> awaited_;
  std::vector<Bucket> buckets_;
  std::vector<int64_t> peers_;
  bool too_large_ = false;
};

/// Where a rank is, as counted along each way of being parallel.
enum Axis : uint8_t { kTp, kDp, kPp };
struct Grid {
  std::array<int64_t, 3> size, stride;

  int64_t index(int64_t rank, Axis axis) const { return rank / stride[axis] % size[axis]; }
  /// The rank as many steps further along an axis, coming round.
  int64_t moved(int64_t rank, Axis axis, int64_t steps) const {
    const int64_t at = index(rank, axis);
    return rank + ((at + steps + size[axis]) % size[axis] - at) * stride[axis];
  }
};

Result<Grid> grid(const StepOptions& o) {
  constexpr std::array<std::string_view, 3> names{"tp", "dp", "pp"};
  Grid grid{{o.tp, o.dp, o.pp}, {0, 0, 0}};
  int64_t stride = 1;
  std::string_view rest = o.order;
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t dash = std::min(rest.find('-'), rest.size());
    const auto axis = static_cast<size_t>(std::find(names.begin(), names.end(), rest.substr(0, dash)) - names.begin());
    if (axis == names.size() || grid.stride[axis] != 0 || (i == 2) != (dash == rest.size()))
      return wrong("gen.step.order", fmt::format("{} is no order of tp, dp and pp, such as tp-dp-pp", quote(o.order)));
    grid.stride[axis] = stride;
    stride *= grid.size[axis];
    rest.remove_prefix(std::min(dash + 1, rest.size()));
  }
  return grid;
}

}  // namespace

double parameters(const StepOptions& o) {
  StepOptions one = o;
  one.tp = 1;
  const Sizes s = sizes(one);
  return static_cast<double>(o.layers) * layer_parameters(one, s) + s.hidden * (2 * s.vocabulary + 1);
}

Result<ClassJob> step(const StepOptions& o) {
  CHAKRA_TRY(check(o));
  CHAKRA_ASSIGN(const Grid grid, gen::grid(o));
  ClassJob job;
  std::vector<Axis> slots;
  if (o.tp > 1) slots.push_back(kTp);
  if (o.dp > 1) slots.push_back(kDp);
  constexpr std::array<std::string_view, 2> slot_names{"tp", "dp"};  // by axis
  const std::vector<int64_t> first_layers = deal_layers(o);
  std::vector<std::vector<int64_t>> peers;
  for (int64_t stage = 0; stage < o.pp; ++stage) {
    Stage built(o, first_layers, stage);
    CHAKRA_TRY(built.build());
    peers.push_back(built.peers());
    Trace& t = job.classes.emplace_back(built.take());
    t.file = fmt::format("stage {}", stage);
    t.rank = stage * grid.stride[kPp];
    t.says_rank = true;
    std::vector<std::string>& names = job.group_slots.emplace_back();
    for (const Axis axis : slots) {
      names.emplace_back(slot_names[axis]);
      t.groups.push_back({names.back(), "", "", {}, 0});
    }
    job.peer_slots.push_back(static_cast<uint32_t>(peers.back().size()));
  }
  const int64_t count = o.tp * o.dp * o.pp;
  std::array<std::vector<uint32_t>, 2> group_of;  // per axis and rank
  for (const Axis axis : slots) {
    group_of[axis].resize(static_cast<size_t>(count));
    int64_t number = 0;
    for (int64_t rank = 0; rank < count; ++rank) {
      if (grid.index(rank, axis) != 0) continue;
      trace::ProcessGroup group{fmt::format("{}{}", slot_names[axis], number++), "", "", {}, grid.size[axis]};
      for (int64_t i = 0; i < grid.size[axis]; ++i) {
        const int64_t member = rank + i * grid.stride[axis];
        group.ranks.push_back(member);
        group_of[axis][static_cast<size_t>(member)] = static_cast<uint32_t>(job.groups.size());
      }
      job.groups.push_back(std::move(group));
    }
  }
  job.ranks.reserve(static_cast<size_t>(count));
  for (int64_t rank = 0; rank < count; ++rank) {
    const auto stage = static_cast<size_t>(grid.index(rank, kPp));
    job.ranks.push_back({rank, static_cast<uint32_t>(stage), static_cast<uint32_t>(job.group_of.size()),
                         static_cast<uint32_t>(job.peer_of.size())});
    for (const Axis axis : slots) job.group_of.push_back(group_of[axis][static_cast<size_t>(rank)]);
    for (const int64_t neighbour : peers[stage]) job.peer_of.push_back(grid.moved(rank, kPp, neighbour));
  }
  return job;
}

}  // namespace chakra::gen
