// What can be done, and who does which part of it.
#include "chakra/gen/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/real.h"
#include "chakra/gen/skew.h"

namespace chakra::gen {
namespace {

constexpr double kMostRanks = 1 << 22;
constexpr double kMostSkew = 10, kMostLogitBytes = 64;
constexpr int64_t kMostDispatchRanks = 1'000'000;
constexpr int64_t kMostHostNs = 1'000'000'000;
constexpr double kMostNodes = 50e6;  // of all classes

Failure wrong(const char* tag, std::string text) { return fail(Code::usage, tag, std::move(text)); }

Result<void> multiple(const char* what, int64_t of, const char* by, int64_t n) {
  if (of % n == 0) return {};
  return wrong("gen.step.divide", fmt::format("{}, {}, is not a multiple of {}, {}", what, of, by, n));
}

Result<void> check_ranges(const StepOptions& o) {
  for (const NumberRow& row : kNumbers)
    if (const int64_t value = o.*row.value; value < row.least || value > row.most)
      return wrong("gen.step.range",
                   fmt::format("{} is {}; from {} to {} are possible", row.name, value, row.least, row.most));
  const auto positive = [](double x) { return x > 0 && x <= 1e24; };
  if (o.host_ns < 0 || o.host_ns > kMostHostNs)
    return wrong("gen.step.range", "a host needs at most a second to launch an operation");
  if (!positive(o.peak_flop_per_s) || !positive(o.memory_bytes_per_s) || !positive(o.efficiency) || o.efficiency > 1)
    return wrong("gen.step.range",
                 "the peak and bandwidth of the device must be above 0, and the efficiency above 0 and at most 1");
  if (o.optimizer >= kOptimizers.size()) return wrong("gen.step.range", "the optimizer is not in kOptimizers");
  if (o.fp16 && o.bytes_per_element != 2) return wrong("gen.step.range", "float16 has 2 bytes an element");
  if (!(o.framework.logit_bytes >= 0 && o.framework.logit_bytes <= kMostLogitBytes))
    return wrong("gen.step.range", fmt::format("a logit takes up to {} bytes", kMostLogitBytes));
  if (o.framework.dispatch_ranks < 0 || o.framework.dispatch_ranks > kMostDispatchRanks)
    return wrong("gen.step.range", fmt::format("a node has 0 to {} ranks", kMostDispatchRanks));
  if (o.model.layers.empty() && o.model.family != Family::recommender)
    return wrong("gen.step.range", "the model has no layer");
  if (o.lora_rank > 0 && (o.model.family == Family::recommender || o.model.family == Family::mlp))
    return wrong("gen.step.lora", "adapters require a model with attention");
  const StepStorage& s = o.storage;
  if (s.sample_bytes < 0 || s.sample_bytes > kMostSampleBytes)
    return wrong("gen.step.range",
                 fmt::format("sample-bytes is {}; from 0 to {} are possible", s.sample_bytes, kMostSampleBytes));
  if (s.sample_bytes > 0 && s.data_tier.empty())
    return wrong("gen.step.unsupported", "sample-bytes requires a data tier");
  if (s.sample_bytes == 0 && !s.data_tier.empty() && o.model.family != Family::decoder)
    return wrong("gen.step.unsupported", "data-tier requires sample-bytes, the bytes of an example");
  if (s.checkpoint_behind && s.checkpoint_tier.empty())
    return wrong("gen.step.unsupported", "checkpoint-behind requires a checkpoint tier");
  return {};
}

Result<void> check_attention(const StepOptions& o, const Attention& a) {
  const bool by_heads = o.cp > 1 && o.context == ContextKind::all_to_all;
  CHAKRA_TRY(multiple("heads", a.heads, by_heads ? "tp x cp" : "tp", by_heads ? o.tp * o.cp : o.tp));
  if (by_heads && a.kv_rank == 0) return multiple("kv-heads", a.kv_heads, "tp x cp", o.tp * o.cp);
  if (a.kv_rank > 0) return {};
  if (a.kv_heads >= o.tp) return multiple("kv-heads", a.kv_heads, "tp", o.tp);
  return multiple("tp", o.tp, "kv-heads", a.kv_heads);
}

Result<void> check_block(const StepOptions& o, const Block& block) {
  if (o.model.family == Family::mlp) return multiple("hidden", o.model.hidden, "tp", o.tp);
  CHAKRA_TRY(check_attention(o, block.attention));
  if (!block.experts) return multiple("ffn", block.mlp.width, "tp", o.tp);
  CHAKRA_TRY(multiple("experts", block.experts->count, "ep", o.ep));
  CHAKRA_TRY(multiple("width of an expert", block.experts->width, "etp", o.etp));
  CHAKRA_TRY(multiple("width of the shared experts", block.experts->shared_width, "tp", o.tp));
  if (o.tp > 1 && !o.sequence_parallel)
    return wrong("gen.step.divide", "experts with tensor parallelism need sequence parallelism");
  return {};
}

/// What only some kinds of models can do.
Result<void> check_family(const StepOptions& o) {
  const Model& m = o.model;
  const auto refuse = [&](const char* what) {
    return wrong("gen.step.unsupported", fmt::format("{} is a model without {}", m.name, what));
  };
  if (m.mtp_layers > 0 && (m.head_bias || !m.final_norm))
    return wrong("gen.step.unsupported", "multi-token prediction needs a final norm, and a head without a bias");
  if (m.family == Family::decoder) return {};
  if (o.sequence != m.sequence)
    return wrong("gen.step.range", fmt::format("sequence is {}, but {} always has {}", o.sequence, m.name, m.sequence));
  if (!m.shares_tokens() && o.cp > 1) return refuse("tokens to shard; cp must be 1");
  if (m.family != Family::recommender) return {};
  if (o.tp > 1) return refuse("matrix multiplications to shard; tp must be 1");
  if (o.pp > 1) return refuse("layers; pp must be 1");
  if (o.zero_ranks > 0) return refuse("copies of its tables; leave out zero-ranks");
  if (!o.ends) return refuse("layers; ends must be true");
  return multiple("tables", m.recommender.tables, "dp", o.dp);
}

/// That a rank's tokens of a micro-batch make.
int64_t choices(const StepOptions& o, const Experts& experts) {
  return o.micro_batch_size * o.sequence / (o.tp * o.cp) * experts.active;
}

Result<void> check_skew(const StepOptions& o) {
  if (!(o.expert_skew >= 0 && o.expert_skew <= kMostSkew))
    return wrong("gen.step.range", fmt::format("expert-skew is {}; expected 0 to {}", o.expert_skew, kMostSkew));
  if (o.expert_skew == 0)
    return o.seed == 0 ? Result<void>{} : wrong("gen.step.divide", "a seed has no effect without --expert-skew");
  if (o.ep == 1)
    return wrong("gen.step.divide", "expert-skew has no effect with ep 1: each rank has all experts of a layer");
  return {};
}

Result<void> check_shares(const StepOptions& o) {
  const bool experts = o.model.has_experts();
  if (o.ep > 1 && !experts) return wrong("gen.step.divide", "the model has no experts; ep must be 1");
  CHAKRA_TRY(check_skew(o));
  for (const Block& block : o.model.blocks) CHAKRA_TRY(check_block(o, block));
  CHAKRA_TRY(check_family(o));
  if (o.sequence_parallel || o.cp > 1)
    CHAKRA_TRY(multiple("sequence", o.sequence, o.cp > 1 ? "tp x cp" : "tp", (o.sequence_parallel ? o.tp : 1) * o.cp));
  if (o.zero_ranks > 0) {
    CHAKRA_TRY(multiple("dp", o.dp, "zero-ranks", o.zero_ranks));
    if (experts) return wrong("gen.step.divide", "zero-ranks are not supported with experts");
    if (o.zero == 0) return wrong("gen.step.divide", "zero-ranks need --zero 1, 2 or 3");
  }
  return multiple("tp x cp x dp", o.tp * o.cp * o.dp, "etp x ep", o.etp * o.ep);
}

Result<void> choose_schedule(Plan& plan) {
  StepOptions& o = plan.o;
  if (o.schedule.empty()) o.schedule = o.virtual_stages > 1 ? "interleaved" : "1f1b";
  plan.schedule = find_schedule(o.schedule);
  if (!plan.schedule) return wrong("gen.step.schedule", fmt::format("unknown schedule {}", quote(o.schedule)));
  plan.pipeline = {o.pp, plan.schedule->chunks > 0 ? plan.schedule->chunks : o.virtual_stages, o.micro_batches};
  if (plan.schedule->chunks == 1 && o.virtual_stages > 1)
    return wrong("gen.step.schedule", fmt::format("{} has no virtual stages", o.schedule));
  if (const std::string why = plan.schedule->refuse(plan.pipeline); !why.empty())
    return wrong("gen.step.divide", fmt::format("{} cannot be: {}", o.schedule, why));
  return {};
}

}  // namespace

std::vector<int64_t> deal_layers(int64_t layers, int64_t pieces, bool ends) {
  const bool count = ends && layers % pieces != 0;
  const int64_t dealt = count ? layers + 2 : layers, rest = dealt % pieces, from = count ? 1 : 0;
  std::vector<int64_t> first{0};
  for (int64_t s = 0; s < pieces; ++s) {
    const bool end = count && (s == 0 || s + 1 == pieces);
    first.push_back(first.back() + dealt / pieces + (s >= from && s < from + rest) - end);
  }
  return first;
}

namespace {

/// Of `parts` equal parts of the experts, the mean number with an expert of a token: experts are chosen evenly.
double distinct_parts(const Experts& experts, int64_t parts) {
  double none = 1;  // the chance that no expert of the token is in a part
  for (int64_t i = 0; i < experts.active; ++i)
    none *= std::max(0.0, 1 - real(experts.count) / real(parts) / real(experts.count - i));
  return real(parts) * (1 - none);
}

/// A token goes once to each node, within a single node once to each rank. Bytes are those of network cards.
double dispatched(const StepOptions& o, const Block& block) {
  const int64_t node = o.framework.dispatch_ranks;
  if (node == 0 || !block.experts || block.experts->active == 0 || o.expert_skew != 0) return 1;
  const int64_t nodes = (o.ep * o.etp + node - 1) / node;
  return distinct_parts(*block.experts, nodes > 1 ? std::min(nodes, o.ep) : o.ep) / real(block.experts->active);
}

Spread spread_of(const StepOptions& o, const Mesh& mesh, BlockRow::Place place) {
  Spread spread;
  spread.mesh = mesh;
  spread.sequence_parallel = o.sequence_parallel && mesh.of(Axis::tp) > 1;
  spread.keep_gathered = o.keep_gathered;
  spread.fused_attention = o.fused_attention;
  spread.context = o.context;
  spread.recompute = o.recompute;
  spread.eager = o.framework.eager;
  spread.logit_bytes = o.framework.logit_bytes;
  spread.element = real(o.bytes_per_element);
  spread.fp8 = o.fp8 && (place == BlockRow::Place::layer || place == BlockRow::Place::prediction);
  return spread;
}

Batch batch_of(const StepOptions& o) { return {real(o.micro_batch_size) * real(o.dp), real(o.sequence), *o.dropout}; }

/// Of a part of the model, with its adapters.
Graph graph_of(const StepOptions& o, BlockRow::Place place, const Block& block) {
  Graph graph = block_graph(place, o.model, block, batch_of(o));
  return o.lora_rank > 0 ? adapted(graph, {o.lora_rank, o.lora_mlp}) : graph;
}

}  // namespace

std::vector<std::shared_ptr<const Unit>> compile_parts(const StepOptions& o, const Mesh& mesh) {
  using Place = BlockRow::Place;
  std::vector<std::shared_ptr<const Unit>> units;
  const auto add = [&](Place place, const Block& block, Recompute recompute) {
    Spread spread = spread_of(o, mesh, place);
    spread.recompute = recompute;
    spread.dispatched = dispatched(o, block);
    units.push_back(std::make_shared<Unit>(compile(graph_of(o, place, block), spread)));
  };
  const Block none;
  for (const Block& block : o.model.blocks) add(Place::layer, block, o.recompute);
  add(Place::front, none, Recompute::none);
  add(Place::end, none, Recompute::none);
  if (o.model.mtp_layers > 0) add(Place::prediction, o.model.block(o.model.layers.size() - 1), o.recompute);
  return units;
}

double adapters(const StepOptions& o) {
  if (o.lora_rank == 0) return 0;
  double sum = 0;
  for (const uint8_t kind : o.model.layers) sum += trained(graph_of(o, BlockRow::Place::layer, o.model.blocks[kind]));
  return sum;
}

double optimizer_bytes(const StepOptions& o, const Parameters& part) {
  const OptimizerRow& row = kOptimizers[o.optimizer];
  const double all = Plan::all(part, 1), matrices = all > 0 ? std::min(1.0, part.matrices / all) : 0;
  const double moments =
      row.orthogonal ? matrices * row.state_bytes + (1 - matrices) * kOptimizers[0].state_bytes : row.state_bytes;
  return moments + (o.bytes_per_element < 4 ? 4 : 0);
}

int64_t Plan::holder(int64_t piece, int64_t chunk) const {
  int64_t other = -1;
  for (int64_t stage = 0; stage < pipeline.stages; ++stage)
    for (int64_t c = 0; c < pipeline.chunks; ++c) {
      if (this->piece(stage, c) != piece) continue;
      if (c == chunk) return stage;
      other = stage;
    }
  return other;
}

/// A layer, or one of multi-token prediction, whose experts are chosen with unequal frequencies.
std::shared_ptr<const Unit> Plan::skewed(BlockRow::Place kind, const Block& block, int64_t layer, int64_t place) const {
  Spread spread = spread_of(o, mesh, kind);
  spread.choices = choices_by_place(*block.experts, choices(o, *block.experts), o.ep, {o.expert_skew, o.seed}, layer);
  spread.place = place;
  return std::make_shared<Unit>(compile(graph_of(o, kind, block), spread));
}

std::vector<Part> Plan::parts(int64_t piece, int64_t place) const {
  std::vector<Part> result;
  const auto at = [](int64_t n) { return static_cast<size_t>(n); };
  const auto add = [&](std::string name, const std::shared_ptr<const Unit>& unit) -> Parameters& {
    return result.emplace_back(Part{std::move(name), unit, unit->parameters}).parameters;
  };
  if (piece == 0 && o.ends) add("embedding", front());
  for (int64_t layer = first_layers[at(piece)]; layer < first_layers[at(piece + 1)]; ++layer) {
    add(fmt::format("layer{}", layer), kinds[o.model.layers[at(layer)]]);
    const Block& block = o.model.blocks[o.model.layers[at(layer)]];
    if (places() > 1 && block.experts) result.back().unit = skewed(BlockRow::Place::layer, block, layer, place);
  }
  if (piece + 1 < pieces() || !o.ends) return result;
  const double table = end()->parameters.largest;
  const double once = real(o.model.vocabulary) * real(o.model.hidden) / real(o.tp);  // without padding
  Parameters& head = add("head", end());
  if (o.model.tied) head.once_dense -= once;
  if (o.model.tied && !tied_apart()) head.dense -= table;
  for (int64_t i = 0; i < o.model.mtp_layers; ++i) {
    Parameters& layer = add(fmt::format("mtp{}", i), prediction());
    if (i == 0 && tied_apart() && !o.model.tied) layer.dense += layer.borrowed;  // the first stage's table
    const auto layers = static_cast<int64_t>(o.model.layers.size());
    if (const Block& block = o.model.block(at(layers - 1)); places() > 1 && block.experts)
      result.back().unit = skewed(BlockRow::Place::prediction, block, layers + i, place);
    Parameters& next = add(fmt::format("mtp{}.head", i), end());
    next.dense -= table;
    next.once_dense -= once;
  }
  return result;
}

std::vector<Slot> Plan::slots(int64_t stage) const {
  std::vector<Slot> result;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::etp, Axis::ep})
    if (mesh.of(axis) > 1) result.push_back({std::string(kAxisNames[index(axis)]), {axis}, mesh.of(axis)});
  if (o.context == ContextKind::ring) std::erase_if(result, [](const Slot& slot) { return slot.axes[0] == Axis::cp; });
  if (!o.model.has_experts())
    std::erase_if(result, [](const Slot& slot) { return slot.axes[0] == Axis::etp || slot.axes[0] == Axis::ep; });
  if (data.size > 1) result.push_back(data);
  if (o.model.has_experts() && experts.size > 1) result.push_back(experts);
  if (o.model.family == Family::recommender && o.dp > 1) result.push_back({"tables", {Axis::dp}, o.dp});
  if (replicas.size > 1) result.push_back(replicas);
  if (schedule->copies > 1) result.push_back({"copy", {Axis::pp}, 2, Slot::Places::mirrored});
  if (tied_apart() && (stage == 0 || stage + 1 == pipeline.stages))
    result.push_back({"tied", {Axis::pp}, 2, Slot::Places::ends});
  return result;
}

Result<Plan> plan(const StepOptions& options) {
  Plan plan;
  plan.o = settled(options);
  StepOptions& o = plan.o;
  CHAKRA_TRY(check_ranges(o));
  CHAKRA_TRY(check_model(o.model));
  if (o.sequence == 0) o.sequence = o.model.sequence > 0 ? o.model.sequence : 2048;
  if (o.model.learned_positions > 0 && o.sequence > o.model.learned_positions)
    return wrong("gen.step.range", fmt::format("sequence is {}; the model has positions for {} tokens", o.sequence,
                                               o.model.learned_positions));
  if (o.etp > 0 && !o.model.has_experts()) return wrong("gen.step.divide", "the model has no experts; leave out etp");
  if (o.etp == 0) o.etp = o.tp;
  if (!o.dropout) o.dropout = o.model.family == Family::decoder && o.model.learned_positions > 0;
  if (!o.model.shares_tokens()) o.sequence_parallel = false;
  if (o.model.family == Family::mlp) o.ends = false;
  if (o.bytes_per_element == 1) o.fp8 = false;  // nothing to cast
  const double ranks = real(o.tp) * real(o.cp) * real(o.pp) * real(o.dp);
  if (ranks > kMostRanks)
    return wrong("gen.step.large", fmt::format("{} ranks; at most {} are possible", ranks, kMostRanks));
  CHAKRA_TRY(check_shares(o));
  CHAKRA_TRY(choose_schedule(plan));
  const int64_t layers = static_cast<int64_t>(o.model.layers.size()),
                pieces = gen::pieces(*plan.schedule, plan.pipeline);
  if (pieces > layers + (o.ends ? 2 : 0))
    return wrong("gen.step.layers", fmt::format("{} layers do not divide evenly into {} pieces", layers, pieces));
  const double each = o.fp8 ? 80 : 60;  // of a layer
  if (const double nodes = real(plan.places()) * real(o.micro_batches) * (each * real(layers) + 30 * real(pieces));
      nodes > kMostNodes)
    return wrong("gen.step.large", fmt::format("about {:.3g} nodes; at most {:.3g} are possible", nodes, kMostNodes));
  plan.mesh.size = {o.tp, o.cp, o.dp, o.etp, o.ep, o.tp * o.cp * o.dp / (o.etp * o.ep), o.pp};
  CHAKRA_ASSIGN(plan.mesh, ordered(plan.mesh, o.order));
  plan.layout = {plan.mesh, o.order, o.zero, o.zero_ranks, o.model.has_experts()};
  plan.data = plan.layout.data();
  plan.replicas = plan.layout.replicas();
  plan.experts = {"edp", {Axis::edp}, plan.mesh.of(Axis::edp)};
  plan.kinds = compile_parts(o, plan.mesh);
  plan.first_layers = deal_layers(layers, pieces, o.ends);
  return plan;
}

}  // namespace chakra::gen
