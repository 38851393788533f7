// What can be served, by whom, in which passes.
#include "chakra/gen/serve_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/base/real.h"
#include "chakra/gen/plan.h"

namespace chakra::gen {
namespace {

constexpr int64_t kManyServed = int64_t{1} << 20, kMostTokens = int64_t{1} << 28;
constexpr double kMostServing = 1 << 22, kMostSeparateRanks = 1 << 13;
constexpr double kMostServingNodes = 50e6;  // of all classes
constexpr double kMostReaches = 4e6;        // of all passes

Failure cannot_serve(const char* tag, std::string text) { return fail(Code::usage, tag, std::move(text)); }

Result<void> divides(const char* what, int64_t of, const char* by, int64_t n) {
  if (of % n == 0) return {};
  return cannot_serve("gen.serve.divide", fmt::format("{}, {}, is not a multiple of {}, {}", what, of, by, n));
}

// ---- what attention meets --------------------------------------------------------------------------------------

/// Keys that the first `tokens` tokens of a sequence meet, each those before it within the window, and half of itself.
double keys_before(double tokens, int64_t window) {
  return tokens > 0 ? tokens * model::average_keys(tokens, true, window) : 0;
}
double within(double tokens, const Attention& a) { return a.window > 0 ? std::min(tokens, real(a.window)) : tokens; }

template <class Each>
double sum_over(const ServePass& pass, const Each& each) {
  double sum = 0;
  for (const Reach& reach : pass.reaches) sum += reach.count * each(reach);
  return sum;
}

}  // namespace

double keys_met(const ServePass& pass, const Attention& a, bool causal) {
  return sum_over(pass, [&](const Reach& r) {
    if (pass.decode) return within(r.before + r.tokens, a);
    if (!causal) return r.tokens * model::average_keys(r.prompt, false, a.window);
    return keys_before(r.before + r.tokens, a.window) - keys_before(r.before, a.window);
  });
}

double tokens_read(const ServePass& pass, const Attention& a) {
  return sum_over(pass, [&](const Reach& r) {
    return pass.decode ? within(r.before + r.tokens, a) : within(r.before, a) + r.tokens;
  });
}

namespace {

model::Met met(const ServePass& pass) {
  model::Met met;
  met.decode = pass.decode;
  met.sequences = sum_over(pass, [](const Reach&) { return 1; });
  const auto tokens = [](const Reach& r) { return r.before + r.tokens; };
  if (met.sequences > 0) met.tokens = sum_over(pass, tokens) / met.sequences;
  met.whole = std::all_of(pass.reaches.begin(), pass.reaches.end(),
                          [&](const Reach& r) { return r.before == 0 && r.tokens == met.tokens; });
  return met;
}

}  // namespace

double remaining_tokens(const ServePass& pass, const Attention& a) {
  return sum_over(pass, [&](const Reach& r) {
    const double first = r.prompt - within(r.prompt, a);
    return std::max(0.0, r.before + r.tokens - std::max(first, r.before));
  });
}

double Side::held_tokens(const Attention& a) const {
  double held = 0;
  if (!passes.empty() && passes.back().decode)
    return sum_over(passes.back(), [&](const Reach& r) { return within(r.before + r.tokens, a); });
  for (const ServePass& pass : passes) held += remaining_tokens(pass, a);
  return held;
}

std::vector<Slot> Side::slots(bool experts) const {
  std::vector<Slot> result;
  for (const Axis axis : {Axis::tp, Axis::etp, Axis::ep})
    if (mesh.of(axis) > 1 && (axis == Axis::tp || experts))
      result.push_back({fmt::format("{}{}", prefix, kAxisNames[index(axis)]), {axis}, mesh.of(axis)});
  return result;
}

double ServePlan::cache_width(const Attention& a, const Mesh& mesh) const {
  const Extent all = cache(a);
  return std::ceil(all.count / real(mesh.of(Axis::tp))) * all.unit;
}

// ---- programs --------------------------------------------------------------------------------------------------

namespace {

/// Of the head's graph that of the logits and of the choice of a word: each rank's best of its part of the vocabulary,
/// 8 bytes with its number, of which all find the largest.
Graph choice(Graph graph) {
  const auto last =
      std::find_if(graph.ops.begin(), graph.ops.end(), [](const Op& op) { return op.kind == OpKind::reduce; });
  CHAKRA_ASSERT(last != graph.ops.end());
  last->name = "choice";
  Tensor& best = graph.tensors[last->output];
  best.name = "choice";
  best.dims.back().count = 2;
  graph.outputs = {last->output};
  graph.ops.erase(last + 1, graph.ops.end());
  return graph;
}

}  // namespace

std::vector<Unit> ServePlan::units(const Mesh& mesh, const ServePass& pass) const {
  Spread spread;
  spread.mesh = mesh;
  spread.sequence_parallel = false;
  spread.element = element();
  spread.trains = false;
  spread.merges = o.merged_products;
  const double replicas = real(mesh.of(Axis::dp));
  std::vector<Unit> units;
  spread.fp8 = o.fp8;
  for (const Block& block : o.model.blocks) {
    const Attention& a = block.attention;
    const bool latents = o.absorbed && a.kv_rank > 0;
    Batch batch{replicas, pass.tokens, false, model::Cached{}};
    batch.cached->keys = keys_met(pass, a, o.model.causal) / pass.tokens;
    batch.cached->tokens = tokens_read(pass, a);
    batch.cached->over_latents = latents && pass.decode;
    batch.cached->met = met(pass);
    // Prefill of latent attention works on keys and values of all heads, which are no cache.
    batch.cached->element = latents && !pass.decode ? element() : cache_element();
    units.push_back(compile_forward(block_graph(BlockRow::Place::layer, o.model, block, batch), spread));
  }
  spread.fp8 = false;
  units.push_back(compile_forward(block_graph(BlockRow::Place::front, o.model, {}, {replicas, pass.tokens}), spread));
  units.emplace_back();
  const double logits = o.all_logits ? pass.tokens : pass.ends;
  if (logits > 0)
    units.back() = compile_forward(choice(block_graph(BlockRow::Place::end, o.model, {}, {replicas, logits})), spread);
  return units;
}

// ---- what can be -----------------------------------------------------------------------------------------------

const std::array<ServeNumberRow, 13> kServeNumbers{{
    {"tp", "Tensor-parallel ranks", [](ServeOptions& o) -> int64_t& { return o.mesh.tp; }, 1, kManyServed},
    {"pp", "Pipeline stages", [](ServeOptions& o) -> int64_t& { return o.mesh.pp; }, 1, kManyServed},
    {"dp", "Replicas, each with a separate batch", [](ServeOptions& o) -> int64_t& { return o.mesh.dp; }, 1,
     kManyServed},
    {"ep", "Expert-parallel replicas, a divisor of --dp", [](ServeOptions& o) -> int64_t& { return o.mesh.ep; }, 1,
     kManyServed},
    {"prefill-tp", "Tensor-parallel ranks of a separate prefill pool",
     [](ServeOptions& o) -> int64_t& { return o.prefill.tp; }, 0, kManyServed},
    {"prefill-pp", "Pipeline stages of a separate prefill pool",
     [](ServeOptions& o) -> int64_t& { return o.prefill.pp; }, 0, kManyServed},
    {"prefill-dp", "Replicas of a separate prefill pool", [](ServeOptions& o) -> int64_t& { return o.prefill.dp; }, 0,
     kManyServed},
    {"prefill-ep", "Expert-parallel replicas of a separate prefill pool",
     [](ServeOptions& o) -> int64_t& { return o.prefill.ep; }, 0, kManyServed},
    {"batch", "Sequences per replica; 0: as many as --contexts", [](ServeOptions& o) -> int64_t& { return o.batch; }, 0,
     kManyServed},
    {"chunk", "Prompt tokens per prefill chunk; 0: the whole prompt",
     [](ServeOptions& o) -> int64_t& { return o.chunk; }, 0, kMostTokens},
    {"steps", "Decode steps; each adds a token to every sequence", [](ServeOptions& o) -> int64_t& { return o.steps; },
     0, kManyServed},
    {"bytes-per-element", "Bytes of a parameter or an activation",
     [](ServeOptions& o) -> int64_t& { return o.bytes_per_element; }, 1, 16},
    {"kv-bytes-per-element", "Bytes of a number in the KV cache; 0: as --bytes-per-element",
     [](ServeOptions& o) -> int64_t& { return o.kv_bytes_per_element; }, 0, 16},
}};

const std::array<ServeSwitchRow, 5> kServeSwitches{{
    {"prompts", "Start with the prefill of --contexts; else the cache holds the contexts", &ServeOptions::prompts},
    {"absorbed", "Cache latents in latent attention; else keys and values of all heads", &ServeOptions::absorbed},
    {"all-logits", "Compute logits of all prompt tokens, not only of the last", &ServeOptions::all_logits},
    {"overlap", "Overlap collectives with independent computation", &ServeOptions::overlap},
    {"merged-products", "One matrix multiplication for Q, K and V, and one for gate and up",
     &ServeOptions::merged_products},
}};

namespace {

Result<void> check_numbers(ServeOptions& o) {
  for (const ServeNumberRow& row : kServeNumbers)
    if (const int64_t value = row.value(o); value < row.least || value > row.most)
      return cannot_serve("gen.serve.range",
                          fmt::format("{} is {}; from {} to {} are possible", row.name, value, row.least, row.most));
  for (const int64_t tokens : o.contexts)
    if (tokens < 1 || tokens > kMostTokens)
      return cannot_serve("gen.serve.range",
                          fmt::format("a context has {} tokens; from 1 to {} are possible", tokens, kMostTokens));
  if (o.contexts.empty()) return cannot_serve("gen.serve.range", "a context is required");
  if (o.contexts.size() > static_cast<size_t>(kManyServed))
    return cannot_serve("gen.serve.range",
                        fmt::format("{} contexts; at most {} are possible", o.contexts.size(), kManyServed));
  const auto positive = [](double x) { return x > 0 && x <= 1e24; };
  if (!positive(o.peak_flop_per_s) || !positive(o.memory_bytes_per_s) || !positive(o.efficiency) || o.efficiency > 1)
    return cannot_serve(
        "gen.serve.range",
        "the peak and bandwidth of the device must be above 0, and the efficiency above 0 and at most 1");
  constexpr int64_t kMostPassNs = 1'000'000'000;
  if (o.pass_ns < 0 || o.pass_ns > kMostPassNs || o.sequence_ns < 0 || o.sequence_ns > kMostPassNs)
    return cannot_serve("gen.serve.range", "the host time between passes, and per sequence, must be at most a second");
  if (!(o.kv_tier_share >= 0 && o.kv_tier_share <= 1))
    return cannot_serve("gen.serve.range", "the share of the cache in a tier must be from 0 to 1");
  if (o.kv_tier.empty() != (o.kv_tier_share == 0))
    return cannot_serve("gen.serve.range", "a tier of the cache requires a share above 0, and a share requires a tier");
  if (!o.prompts && o.chunk > 0) return cannot_serve("gen.serve.unsupported", "chunk requires prompts");
  if (!o.prompts && o.separate()) return cannot_serve("gen.serve.unsupported", "a prefill pool requires prompts");
  if (!o.prompts && o.all_logits) return cannot_serve("gen.serve.unsupported", "all-logits requires prompts");
  if (o.separate() && o.steps == 0)
    return cannot_serve("gen.serve.unsupported", "separate ranks for decode require decode steps");
  if (!o.prompts && o.steps == 0) return cannot_serve("gen.serve.unsupported", "prompts or steps are required");
  return {};
}

Result<void> check_model_and_contexts(const ServeOptions& o) {
  if (o.model.family != Family::decoder)
    return cannot_serve("gen.serve.unsupported", fmt::format("{} is not a language model", o.model.name));
  if (o.model.layers.empty()) return cannot_serve("gen.serve.range", "the model has no layer");
  CHAKRA_TRY(check_model(o.model));
  if (o.model.mtp_layers > 0)
    return cannot_serve("gen.serve.unsupported", "multi-token prediction is not supported here; leave out --mtp");
  bool latent = false;
  for (const Block& block : o.model.blocks) {
    if (block.attention.heads < 1)
      return cannot_serve("gen.serve.unsupported", "the model has a layer without attention");
    latent |= block.attention.kv_rank > 0;
  }
  if (!o.absorbed && !latent)
    return cannot_serve("gen.serve.unsupported", "absorbed: the model has no latent attention");
  const int64_t longest = *std::max_element(o.contexts.begin(), o.contexts.end()) + o.steps - (o.prompts ? 0 : 1);
  if (o.model.learned_positions > 0 && longest > o.model.learned_positions)
    return cannot_serve("gen.serve.range", fmt::format("a sequence grows to {} tokens; the model has positions for {}",
                                                       longest, o.model.learned_positions));
  if (longest > kMostTokens)
    return cannot_serve("gen.serve.range", fmt::format("a sequence grows to {} tokens", longest));
  return {};
}

Result<void> check_mesh(const ServeOptions& o, const ServeMesh& mesh, bool experts) {
  const double ranks = real(mesh.tp) * real(mesh.pp) * real(mesh.dp);
  if (ranks > (o.separate() ? kMostSeparateRanks : kMostServing))
    return cannot_serve("gen.serve.large", fmt::format("{} ranks; at most {} are possible", ranks,
                                                       o.separate() ? kMostSeparateRanks : kMostServing));
  if (mesh.pp > static_cast<int64_t>(o.model.layers.size()))
    return cannot_serve("gen.serve.divide",
                        fmt::format("{} layers do not divide evenly into {} stages", o.model.layers.size(), mesh.pp));
  if (mesh.ep > 1 && !experts) return cannot_serve("gen.serve.divide", "the model has no experts; ep must be 1");
  CHAKRA_TRY(divides("dp", mesh.dp, "ep", mesh.ep));
  for (const Block& block : o.model.blocks) {
    const Attention& a = block.attention;
    CHAKRA_TRY(divides("heads", a.heads, "tp", mesh.tp));
    if (a.kv_rank == 0)
      CHAKRA_TRY(a.kv_heads >= mesh.tp ? divides("kv-heads", a.kv_heads, "tp", mesh.tp)
                                       : divides("tp", mesh.tp, "kv-heads", a.kv_heads));
    if (!block.experts) {
      CHAKRA_TRY(divides("ffn", block.mlp.width, "tp", mesh.tp));
      continue;
    }
    CHAKRA_TRY(divides("experts", block.experts->count, "ep", mesh.ep));
    CHAKRA_TRY(divides("width of an expert", block.experts->width, "tp", mesh.tp));
    CHAKRA_TRY(divides("width of the shared experts", block.experts->shared_width, "tp", mesh.tp));
  }
  return {};
}

/// How many sequences of a replica there are of each length.
using Lengths = std::map<int64_t, int64_t>;
Lengths lengths(const ServeOptions& o, int64_t sequences) {
  if (o.contexts.size() == 1) return {{o.contexts[0], sequences}};
  Lengths result;
  for (const int64_t tokens : o.contexts) ++result[tokens];
  return result;
}

void add_prefill(const ServeOptions& o, const Lengths& prompts, std::vector<ServePass>& passes) {
  const int64_t longest = prompts.rbegin()->first, chunk = o.chunk > 0 ? std::min(o.chunk, longest) : longest;
  for (int64_t first = 0; first < longest; first += chunk) {
    ServePass& pass = passes.emplace_back();
    for (const auto& [tokens, count] : prompts) {
      if (tokens <= first) continue;
      const int64_t now = std::min(chunk, tokens - first);
      pass.reaches.push_back({real(count), real(first), real(now), real(tokens)});
      pass.tokens += real(count * now);
      if (first + now == tokens) pass.ends += real(count);
    }
  }
}

void add_decode(const ServeOptions& o, const Lengths& contexts, std::vector<ServePass>& passes) {
  for (int64_t step = 0; step < o.steps; ++step) {
    ServePass& pass = passes.emplace_back();
    pass.decode = true;
    for (const auto& [tokens, count] : contexts) {
      pass.reaches.push_back({real(count), real(tokens + step - (o.prompts ? 0 : 1)), 1, real(tokens)});
      pass.ends += real(count);
    }
    pass.tokens = pass.ends;
  }
}

/// Before they are made: passes and nodes are not too many.
Result<void> check_size(const ServeOptions& o, const Lengths& lengths) {
  const double longest = real(lengths.rbegin()->first),
               prefill =
                   o.prompts
                       ? std::ceil(longest / (o.chunk > 0 ? real(std::min(o.chunk, lengths.rbegin()->first)) : longest))
                       : 0;
  const double passes = prefill + real(o.steps), kinds = real(static_cast<int64_t>(lengths.size()));
  if (passes * kinds > kMostReaches)
    return cannot_serve("gen.serve.large", fmt::format("{} passes with {} lengths of contexts", passes, kinds));
  double links = 0;
  if (o.separate())
    links = prefill * (real(o.mesh.tp) + real(o.prefill.tp)) *
            (1 + std::max(real(o.mesh.dp) / real(o.prefill.dp), real(o.prefill.dp) / real(o.mesh.dp)));
  const double stages = real(o.mesh.pp + std::max<int64_t>(o.prefill.pp, 1));
  const double nodes = (25 * passes + links) * real(static_cast<int64_t>(o.model.layers.size())) + 20 * passes * stages;
  if (nodes > kMostServingNodes)
    return cannot_serve("gen.serve.large",
                        fmt::format("about {:.3g} nodes; at most {:.3g} are possible", nodes, kMostServingNodes));
  return {};
}

Result<Side> side(const ServePlan& plan, const ServeMesh& m, std::string prefix) {
  Side result;
  result.prefix = std::move(prefix);
  result.mesh.size = {m.tp, 1, m.dp, m.tp, m.ep, m.dp / m.ep, m.pp};
  CHAKRA_ASSIGN(result.mesh, ordered(result.mesh, "tp-ep-dp-pp"));
  result.first_layers = deal_layers(static_cast<int64_t>(plan.o.model.layers.size()), m.pp, true);
  return result;
}

/// Sequences of a replica for prefill, where prefill has separate ranks.
Result<int64_t> prefilled(const ServeOptions& o, const Lengths& contexts) {
  const int64_t all = o.batch * o.mesh.dp;
  CHAKRA_TRY(divides("batch x dp", all, "prefill-dp", o.prefill.dp));
  if (o.prefill.dp != o.mesh.dp && contexts.size() > 1)
    return cannot_serve("gen.serve.divide",
                        "contexts of several lengths need as many replicas for prefill as for decode");
  return all / o.prefill.dp;
}

}  // namespace

Result<ServePlan> serve_plan(const ServeOptions& options) {
  ServePlan plan;
  plan.o = options;
  ServeOptions& o = plan.o;
  CHAKRA_TRY(check_numbers(o));
  if (o.batch == 0) o.batch = static_cast<int64_t>(o.contexts.size());
  if (o.contexts.size() > 1 && o.batch != static_cast<int64_t>(o.contexts.size()))
    return cannot_serve("gen.serve.divide",
                        fmt::format("a batch of {} sequences has {} contexts", o.batch, o.contexts.size()));
  if (o.bytes_per_element == 1) o.fp8 = false;  // nothing to cast
  if (o.kv_bytes_per_element == 0) o.kv_bytes_per_element = o.bytes_per_element;
  if (o.separate())
    for (int64_t ServeMesh::*size : {&ServeMesh::tp, &ServeMesh::pp, &ServeMesh::dp, &ServeMesh::ep})
      o.prefill.*size = std::max<int64_t>(o.prefill.*size, 1);
  CHAKRA_TRY(check_model_and_contexts(o));
  plan.experts = o.model.has_experts();
  CHAKRA_TRY(check_mesh(o, o.mesh, plan.experts));
  if (o.separate()) CHAKRA_TRY(check_mesh(o, o.prefill, plan.experts));
  const Lengths contexts = lengths(o, o.batch);
  CHAKRA_TRY(check_size(o, contexts));
  plan.rates.bytes_per_element = o.bytes_per_element;
  plan.rates.overlap = o.overlap;
  plan.rates.peak_flop_per_s = o.peak_flop_per_s;
  plan.rates.memory_bytes_per_s = o.memory_bytes_per_s;
  plan.rates.efficiency = o.efficiency;
  plan.rates.fp8_flop_per_s = o.fp8_flop_per_s;
  if (o.separate()) {
    CHAKRA_ASSIGN(Side first, side(plan, o.prefill, "prefill-"));
    CHAKRA_ASSIGN(first.sequences, prefilled(o, contexts));
    add_prefill(o, lengths(o, first.sequences), first.passes);
    plan.sides.push_back(std::move(first));
  }
  CHAKRA_ASSIGN(Side last, side(plan, o.mesh, ""));
  last.sequences = o.batch;
  if (o.separate()) last.first_rank = plan.sides[0].mesh.ranks();
  else if (o.prompts) add_prefill(o, contexts, last.passes);
  add_decode(o, contexts, last.passes);
  plan.sides.push_back(std::move(last));
  return plan;
}

}  // namespace chakra::gen
