// Serving of published models is the formulas of docs/reference/serving.md, which stand here a second time.
#include "chakra/gen/serve.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "chakra/base/real.h"
#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/gen/testing/outcome.h"

namespace chakra::gen {
namespace {

using namespace chakra::testing;
using model::Attention, model::Block, model::Experts, model::Model, model::ModelChange, model::changed,
    model::default_model, model::find_model;
using trace::ClassJob;

ServeOptions served(std::string_view name) {
  ServeOptions o;
  o.model = find_model(name)->model;
  return o;
}
ServeOptions small() {
  ModelChange change;
  change.layers = 4;
  change.hidden = 64;
  change.ffn = 128;
  change.heads = 8;
  change.kv_heads = 4;
  change.vocabulary = 96;
  ServeOptions o;
  o.model = changed(default_model(), change).value();
  o.contexts = {24};
  return o;
}
ServeStats stats_of(const ServeOptions& o) {
  const auto job = serve(o);
  EXPECT_TRUE(job) << (job ? "" : job.error().message());
  return serve_stats(o, job.value()).value();
}

/// Elements of matrices that a token is multiplied with, without embedding and head.
double matrices(const Model& m) {
  double sum = 0;
  for (const uint8_t kind : m.layers) {
    const Block& b = m.blocks[kind];
    const Attention& a = b.attention;
    const double d = real(m.hidden), heads = real(a.heads), h = real(a.head_dim), v = real(a.value_dim);
    if (a.kv_rank > 0) {
      const double nope = h - real(a.rope_dim), c = real(a.kv_rank);
      sum += a.q_rank > 0 ? real(a.q_rank) * (d + heads * h) : d * heads * h;
      sum += d * (c + real(a.rope_dim)) + c * heads * (nope + v) + heads * v * d;
    } else {
      sum += d * heads * h + real(a.kv_heads) * (h + v) * d + heads * v * d;
    }
    if (!b.experts) sum += (b.mlp.gated ? 3 : 2) * d * real(b.mlp.width);
    else
      sum += d * real(b.experts->count) + 3 * d * real(b.experts->active * b.experts->width + b.experts->shared_width);
  }
  return sum;
}
double head(const Model& m) { return real(m.hidden) * real(m.vocabulary); }
/// Of attention, for each key that a token meets: all layers.
double per_key(const Model& m, bool over_latents) {
  double sum = 0;
  for (const uint8_t kind : m.layers) {
    const Attention& a = m.blocks[kind].attention;
    const bool latents = over_latents && a.kv_rank > 0;
    sum += 2 * real(a.heads) * real(latents ? 2 * a.kv_rank + a.rope_dim : a.head_dim + a.value_dim);
  }
  return sum;
}

struct Golden {
  const char* name;
  int64_t kv_bytes;  ///< of a token, of 2 bytes an element
};
constexpr std::array<Golden, 9> kGolden{{{"gpt3-175b", 4'718'592},
                                         {"gpt-165m", 36'864},
                                         {"llama2-7b", 524'288},
                                         {"llama2-70b", 327'680},
                                         {"llama3-8b", 131'072},
                                         {"llama3-70b", 327'680},
                                         {"llama3-405b", 516'096},
                                         {"mixtral-8x7b", 131'072},
                                         {"deepseek-v3", 70'272}}};

TEST(Serve, DecodeIsTheFormulas) {
  for (const Golden& golden : kGolden)
    for (const int64_t tp : {1, 8}) {
      ServeOptions o = served(golden.name);
      o.prompts = false;
      o.contexts = {700, 1300};
      o.steps = 3;
      o.mesh.tp = tp;
      if (o.model.block(0).attention.heads % tp != 0) continue;
      const ServeStats s = stats_of(o);
      EXPECT_EQ(s.kv_bytes_per_token, golden.kv_bytes) << golden.name;
      const Model& m = o.model;
      // Contexts grow: 700 and 1300, 701 and 1301, 702 and 1302.
      const double tokens = 6, keys = 3 * (700 + 1300 + 2);
      const double products = tokens * 2 * (matrices(m) + head(m));
      EXPECT_NEAR((s.decode.operations - s.decode.surplus) / (products + keys * per_key(m, true)), 1, 1e-12)
          << golden.name;
      EXPECT_EQ(s.decode.tokens, tokens);
      EXPECT_EQ(s.prefill.tokens, 0);
      const bool latent = m.block(0).attention.kv_rank > 0;  // all ranks have the latents
      EXPECT_DOUBLE_EQ(s.decode.cache_bytes, keys * real(golden.kv_bytes) * (latent ? real(tp) : 1)) << golden.name;
      double nodes = 0;
      for (const ServeClassStats& c : s.classes) nodes += c.operations * real(c.ranks);
      EXPECT_NEAR(nodes / s.decode.operations, 1, 1e-9);
      if (tp > 1) continue;
      // Every matrix once a step, of experts those that two tokens choose on average, and two rows of each table.
      double read = head(m) + 2 * real(m.hidden) * (m.learned_positions > 0 ? 2 : 1) + matrices(m);
      for (const uint8_t kind : m.layers)
        if (const auto& e = m.blocks[kind].experts)
          read += 3 * real(m.hidden) * real(e->width) * real(e->active) * (1 - real(e->active) / real(e->count));
      EXPECT_NEAR(s.decode.parameter_bytes / (3 * 2 * read), 1, 1e-12) << golden.name;
    }
}

TEST(Serve, PrefillIsTheFormulasWholeAndInChunks) {
  for (const Golden& golden : kGolden)
    for (const bool causal : {true, false}) {
      ServeOptions o = served(golden.name);
      o.model.causal = causal;
      o.contexts = {1000, 1500, 1000};
      o.steps = 0;
      const Model& m = o.model;
      const double tokens = 3500, pairs = (2 * 1000.0 * 1000 + 1500.0 * 1500) / (causal ? 2 : 1);
      const ServeStats whole = stats_of(o);
      EXPECT_NEAR(whole.prefill.operations / (2 * tokens * matrices(m) + 2 * 3 * head(m) + pairs * per_key(m, false)),
                  1, 1e-12)
          << golden.name;
      for (const int64_t chunk : {1, 128, 500, 999, 5000}) {
        o.chunk = chunk == 1 ? 250 : chunk;
        const ServeStats chunks = stats_of(o);
        EXPECT_EQ(chunks.prefill.operations, whole.prefill.operations) << golden.name << " " << chunk;
        double nodes = 0;
        for (const ServeClassStats& c : chunks.classes) nodes += c.operations * real(c.ranks);
        EXPECT_NEAR(nodes / whole.prefill.operations, 1, 1e-9);
        EXPECT_EQ(chunks.prefill.tokens, tokens);
      }
      o.chunk = 0;
      o.all_logits = true;
      const double more = stats_of(o).prefill.operations - whole.prefill.operations;
      EXPECT_NEAR(more / (2 * (tokens - 3) * head(m)), 1, 1e-9);
    }
}

/// The published operations of a token, where attention is counted whole and all tokens have logits.
TEST(Serve, PrefillHasThePublishedOperations) {
  for (const auto& [name, sequence, per_token] : {std::tuple("llama3-8b", 8192, 1.930428e10),
                                                  {"llama3-70b", 8192, 1.604783e11},
                                                  {"gpt3-175b", 2048, 3.587911e11},
                                                  {"llama2-7b", 4096, 1.536164e10}}) {
    ServeOptions o = served(name);
    o.model.causal = false;
    o.all_logits = true;
    o.contexts = {sequence};
    o.steps = 0;
    EXPECT_NEAR(stats_of(o).prefill.operations / sequence / per_token, 1, 1e-6) << name;
  }
}

TEST(Serve, WindowsBoundWhatIsMetReadAndHeld) {
  ServeOptions o = small();
  o.model.blocks[0].attention.window = 10;
  o.prompts = false;
  o.contexts = {4, 50};
  const Attention& a = o.model.blocks[0].attention;
  const double width = real(a.kv_heads) * real(a.head_dim + a.value_dim);
  ServeStats s = stats_of(o);
  EXPECT_DOUBLE_EQ(s.decode.cache_bytes, 4 * (4 + 10) * width * 2);
  EXPECT_DOUBLE_EQ(s.classes[0].memory.cache, 4 * (4 + 10) * width * 2);
  EXPECT_DOUBLE_EQ(s.decode.operations,
                   2 * 2 * (matrices(o.model) + head(o.model)) + (4 + 10) * per_key(o.model, false));
  // Of a prompt of 50 the first 10 tokens meet half of those before them, the others 10.
  o.prompts = true;
  o.contexts = {50};
  o.steps = 0;
  for (const int64_t chunk : {0, 7, 16}) {
    o.chunk = chunk;
    s = stats_of(o);
    EXPECT_DOUBLE_EQ(s.prefill.operations, 50 * 2 * matrices(o.model) + 2 * head(o.model) +
                                               (10.0 * 10 / 2 + 40 * 10) * per_key(o.model, false));
    EXPECT_DOUBLE_EQ(s.classes[0].memory.cache, 4 * 10 * width * 2);
  }
}

TEST(Serve, CommunicationIsTheFormulas) {
  ServeOptions o = small();
  o.mesh.tp = 4;
  o.mesh.pp = 2;
  o.batch = 3;
  o.steps = 5;
  const ServeStats s = stats_of(o);
  ASSERT_EQ(s.classes.size(), 2U);
  const double prefill = 3 * 24 * 64 * 2, decode = 3 * 64 * 2;  // bytes of all tokens
  for (size_t stage = 0; stage < 2; ++stage) {
    std::map<std::string, const Communication*> by;
    for (const Communication& c : s.classes[stage].communication) by[c.group + " " + c.type] = &c;
    // Two all-reduces a layer, two layers; one after the embedding; one of 8 bytes a choice.
    EXPECT_EQ(by["tp ALL_REDUCE"]->count, 6 * (2 * 2 + 1));
    const double choices = 6 * 3 * 8, embeddings = prefill + 5 * decode;
    EXPECT_EQ(by["tp ALL_REDUCE"]->bytes, 4 * (prefill + 5 * decode) + (stage == 0 ? embeddings : choices));
    const double words = 5 * 3 * 4;
    EXPECT_EQ(by["pp SEND"]->bytes, stage == 0 ? prefill + 5 * decode : words);
    EXPECT_EQ(by["pp RECV"]->bytes, stage == 0 ? words : prefill + 5 * decode);
  }
}

TEST(Serve, ExpertsAreSharedOutByReplicas) {
  ServeOptions o = served("mixtral-8x7b");
  o.model.layers.resize(2);
  o.mesh = {2, 1, 4, 4};
  o.batch = 16;
  o.prompts = false;
  const ServeStats s = stats_of(o);
  ASSERT_EQ(s.classes.size(), 1U);
  std::map<std::string, const Communication*> by;
  for (const Communication& c : s.classes[0].communication) by[c.group + " " + c.type] = &c;
  // To the experts and back: 16 tokens to 2 experts each, which tensor-parallel ranks both have.
  EXPECT_EQ(by["ep ALL_TO_ALL"]->count, 2 * 2);
  EXPECT_EQ(by["ep ALL_TO_ALL"]->bytes, 2 * 2 * 16 * 2 * 4096 * 2.0);
  // The sums of an expert's parts are those of its tokens: one all-reduce of a layer's output, one of attention's.
  EXPECT_EQ(by["tp ALL_REDUCE"]->count, 2 * 2 + 1 + 1);
  EXPECT_FALSE(by.contains("etp ALL_REDUCE"));
  // Routers are done by both.
  const double tokens = 4 * 16;
  EXPECT_EQ(s.decode.surplus, tokens * 2 * 2 * 4096 * 8);
  EXPECT_NEAR((s.decode.operations - s.decode.surplus) /
                  (tokens * (2 * (matrices(o.model) + head(o.model)) + 1024 * per_key(o.model, false))),
              1, 1e-12);
  // A rank has a quarter of the experts, half of each matrix but the router.
  const double d = 4096, expert = 3 * d * 14336, dense = 2 * d * 4096 + 2 * d * 1024;
  EXPECT_DOUBLE_EQ(s.classes[0].memory.parameters,
                   2 * (2 * (8 / 4 * expert / 2 + dense / 2 + d * 8 + 2 * d) + 2 * d * 32000 / 2 + d));
}

TEST(Serve, MemoryIsTheFormulas) {
  ServeOptions o = served("llama3-70b");
  o.mesh.tp = 8;
  o.batch = 16;
  o.contexts = {4000};
  o.steps = 96;
  o.kv_bytes_per_element = 1;
  ServeMemory m = stats_of(o).classes[0].memory;
  EXPECT_DOUBLE_EQ(m.cache, 16 * 4096 * 327'680.0 / 2 / 8);
  const double norms = (2 * 80 + 1) * 8192;  // which every rank has
  EXPECT_DOUBLE_EQ(m.parameters, 2 * ((70'553'706'496.0 - norms) / 8 + norms));
  EXPECT_EQ(m.expanded, 0);
  o.mesh.tp = 16;  // 8 heads of keys: two ranks have the same
  EXPECT_DOUBLE_EQ(stats_of(o).classes[0].memory.cache, 16 * 4096 * 327'680.0 / 2 / 8);
  o = served("deepseek-v3");
  o.mesh.tp = 8;
  o.contexts = {1000};
  o.chunk = 300;
  m = stats_of(o).classes[0].memory;
  EXPECT_DOUBLE_EQ(m.cache, 1001 * 70'272.0);
  EXPECT_DOUBLE_EQ(m.expanded, 61 * 1000 * 128 / 8 * (192 + 128) * 2.0);
  o.absorbed = false;
  const ServeStats s = stats_of(o);
  EXPECT_EQ(s.kv_bytes_per_token, 61 * 128 * (192 + 128) * 2);
  EXPECT_DOUBLE_EQ(s.classes[0].memory.cache, 1001 * real(s.kv_bytes_per_token) / 8);
  EXPECT_EQ(s.classes[0].memory.expanded, 0);
  EXPECT_NEAR((s.decode.operations - s.decode.surplus) /
                  (2 * (matrices(o.model) + head(o.model)) + 1001 * per_key(o.model, false)),
              1, 1e-12);
}

/// Decode is bound by memory: a rank takes as long as it reads parameters and cache, at least.
TEST(Serve, DecodeTakesAsLongAsItReads) {
  ServeOptions o = served("llama3-70b");
  o.mesh.tp = 8;
  o.batch = 4;
  o.prompts = false;
  o.contexts = {8192};
  const auto job = serve(o);
  ASSERT_TRUE(job);
  Picoseconds busy = 0;
  const Trace& t = job->classes[0];
  for (const NodeId n : t.nodes())
    if (t.type[n] == NodeType::comp) busy += t.dur_ps[n];
  const ServeStats s = stats_of(o);
  const double read = (s.classes[0].parameter_bytes + s.classes[0].cache_bytes) / o.memory_bytes_per_s;
  EXPECT_GT(static_cast<double>(busy) * 1e-12, read);
  EXPECT_LT(static_cast<double>(busy) * 1e-12, 1.02 * read);
}

/// Bytes of messages with this tag from rank to rank.
std::map<std::pair<int64_t, int64_t>, double> messages(const ClassJob& job, int64_t tag) {
  std::map<std::pair<int64_t, int64_t>, double> sums;
  const trace::TraceSet all = trace::expand(job);
  for (const Trace& t : all.ranks)
    for (const NodeId n : t.nodes())
      if (t.type[n] == NodeType::send && t.comm(n)->tag == tag)
        sums[{t.rank, t.comm(n)->dst}] += static_cast<double>(t.comm(n)->bytes);
  return sums;
}

TEST(Serve, CacheGoesToTheRanksThatDecode) {
  for (const Golden& golden : kGolden) {
    ServeOptions o = served(golden.name);
    o.model.layers.resize(12, o.model.layers.back());
    o.contexts = {640};
    o.batch = 2;
    const Attention& a = o.model.block(0).attention;
    const bool latent = a.kv_rank > 0;
    const int64_t heads = latent ? 1 : a.kv_heads;
    for (const auto& [from, to] : {std::pair(4, 4), {2, 4}, {4, 1}, {1, 2}}) {
      if (a.heads % from != 0 || a.heads % to != 0 || (!latent && (heads % from != 0 || heads % to != 0))) continue;
      o.prefill = {from, 3, 1, 1};
      o.mesh = {to, 2, 1, 1};
      o.chunk = 100;
      const auto job = serve(o);
      ASSERT_TRUE(job) << golden.name << job.error().message();
      double sum = 0;
      for (const auto& [ranks, bytes] : messages(*job, 2)) sum += bytes;
      const double copies = latent ? to : 1;  // each rank has all latents
      const ServeStats s = stats_of(o);
      EXPECT_EQ(sum, 2 * 640 * real(s.kv_bytes_per_token) * copies) << golden.name;
      EXPECT_EQ(s.transfer_bytes, sum);
    }
  }
}

/// What each rank that decodes gets is what it holds.
TEST(Serve, EveryRankThatDecodesGetsWhatItHolds) {
  Prng random(7);
  int made = 0;
  for (int i = 0; i < 200; ++i) {
    ServeOptions o = small();
    o.model.blocks[0].attention.kv_heads = int64_t{1} << random.below(4);
    o.model.layers.resize(static_cast<size_t>(random.between(1, 7)));
    if (random.chance(0.3)) o.model.blocks[0].attention.window = random.between(1, 30);
    o.prefill = {int64_t{1} << random.below(4), random.between(1, 3), random.between(1, 4), 1};
    o.mesh = {int64_t{1} << random.below(4), random.between(1, 3), random.between(1, 4), 1};
    o.batch = random.between(1, 4) * o.prefill.dp;
    o.chunk = random.between(0, 30);
    o.kv_bytes_per_element = random.between(0, 2);
    const auto job = serve(o);
    if (!job) continue;
    ++made;
    const Attention& a = o.model.blocks[0].attention;
    const double held = a.window > 0 ? std::min(24.0, real(a.window)) : 24;
    const double width = std::ceil(real(a.kv_heads) / real(o.mesh.tp)) * real(a.head_dim + a.value_dim) *
                         real(o.kv_bytes_per_element > 0 ? o.kv_bytes_per_element : 2);
    std::map<int64_t, double> got;
    for (const auto& [ranks, bytes] : messages(*job, 2)) got[ranks.second] += bytes;
    const int64_t first = o.prefill.tp * o.prefill.pp * o.prefill.dp, stage = o.mesh.tp * o.mesh.dp;
    double sum = 0;
    for (int64_t s = 0; s < o.mesh.pp; ++s)
      for (int64_t r = 0; r < stage; ++r) {
        const double layers = got[first + s * stage + r] / (real(o.batch) * held * width);
        EXPECT_EQ(layers, std::floor(layers));
        EXPECT_EQ(layers, got[first + s * stage] / (real(o.batch) * held * width));
        if (r == 0) sum += layers;
      }
    EXPECT_EQ(sum, real(static_cast<int64_t>(o.model.layers.size()))) << i;
    std::set<int64_t> chosen;  // every rank of the first stage gets the first words
    double words = 0;
    for (const auto& [ranks, bytes] : messages(*job, 1))
      if (ranks.first < first && ranks.second >= first) words += bytes, chosen.insert(ranks.second);
    EXPECT_EQ(words, 4 * real(o.batch * stage));
    EXPECT_EQ(static_cast<int64_t>(chosen.size()), stage);
  }
  EXPECT_GT(made, 60);
}

ServeOptions random_serving(Prng& random) {
  ServeOptions o = small();
  o.model.layers.resize(static_cast<size_t>(random.between(1, 6)));
  const bool experts = random.chance(0.4), latent = random.chance(0.2);
  if (experts) o.model.blocks[0].experts = Experts{12, 2, 96, random.chance(0.5) ? 64 : 0};
  if (latent) {
    Attention& a = o.model.blocks[0].attention;
    a.kv_rank = 16, a.rope_dim = 4, a.q_rank = random.chance(0.5) ? 24 : 0, a.kv_heads = a.heads;
    o.absorbed = random.chance(0.6);
  }
  const auto mesh = [&] {
    ServeMesh m{int64_t{1} << random.below(4), random.between(1, 4), random.between(1, 4), 1};
    if (experts && random.chance(0.7)) m.ep = m.dp;
    return m;
  };
  o.mesh = mesh();
  if (random.chance(0.5)) o.prefill = mesh();
  o.prompts = o.separate() || random.chance(0.7);
  o.steps = random.between(o.prompts && !o.separate() ? 0 : 1, 5);
  o.chunk = o.prompts && random.chance(0.5) ? random.between(1, 30) : 0;
  if (random.chance(0.4)) o.contexts = {24, 3, 17, 24};
  else o.batch = random.between(1, 5);
  o.overlap = random.chance(0.7);
  if (random.chance(0.3)) o.kv_tier = "host", o.kv_tier_share = 0.5;
  return o;
}

TEST(Serve, OfAnyShapeCanBeCarriedOut) {
  Prng random(11);
  int made = 0, apart = 0;
  for (int i = 0; i < 300; ++i) {
    const ServeOptions o = random_serving(random);
    const auto job = serve(o);
    if (!job) {
      EXPECT_EQ(tag_of(job), "gen.serve.divide") << job.error().message();
      continue;
    }
    ++made;
    apart += o.separate();
    const trace::TraceSet all = trace::expand(*job);
    for (const Trace& t : all.ranks) {
      EXPECT_TRUE(t.defects.empty());
      for (const NodeId n : t.nodes()) {
        const std::set<NodeId> on(t.deps.of(n).begin(), t.deps.of(n).end());
        EXPECT_EQ(on.size(), t.deps.of(n).size()) << t.name_of(n);
        EXPECT_TRUE(on.empty() || *on.rbegin() < n);
      }
    }
    const ServeStats s = serve_stats(o, *job).value();
    double nodes = 0;
    for (const ServeClassStats& c : s.classes) nodes += c.operations * real(c.ranks);
    EXPECT_NEAR(nodes / (s.prefill.operations + s.decode.operations), 1, 1e-3);  // of tiny nodes, rounded
    EXPECT_GE(s.prefill.surplus + s.decode.surplus, -1e-6);
    if (!o.kv_tier.empty()) continue;
    const Outcome run(all);
    EXPECT_EQ(run.disagreement, "") << i;
    EXPECT_EQ(run.left, 0U) << i;
  }
  EXPECT_GT(made, 60);
  EXPECT_GT(apart, 15);
}

TEST(Serve, RefusesWhatCannotBe) {
  const auto tag = [](const auto& change) {
    ServeOptions o = small();
    change(o);
    return tag_of(serve(o));
  };
  EXPECT_EQ(tag([](ServeOptions& o) { o.model.layers.clear(); }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.mesh.tp = 0; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.contexts = {}; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.contexts = {5, 0}; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.contexts = {INT64_MAX}; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.steps = -1; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.efficiency = 0; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.peak_flop_per_s = NAN; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.kv_tier_share = NAN; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.kv_tier_share = 0.5; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.kv_tier = "host"; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.model.learned_positions = 24; }), "gen.serve.range");
  EXPECT_EQ(tag([](ServeOptions& o) { o.mesh.tp = 3; }), "gen.serve.divide");
  EXPECT_EQ(tag([](ServeOptions& o) { o.mesh.pp = 5; }), "gen.serve.divide");
  EXPECT_EQ(tag([](ServeOptions& o) { o.mesh.ep = 2, o.mesh.dp = 2; }), "gen.serve.divide");
  EXPECT_EQ(tag([](ServeOptions& o) { o.contexts = {1, 2}, o.batch = 3; }), "gen.serve.divide");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prefill.dp = 2; }), "gen.serve.divide");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prefill.dp = 2, o.contexts = {1, 2}; }), "gen.serve.divide");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prefill.tp = 1, o.steps = 0; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prefill.tp = 1, o.prompts = false; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prompts = false, o.chunk = 5; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prompts = false, o.steps = 0; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prompts = false, o.all_logits = true; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.absorbed = false; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.model.mtp_layers = 1; }), "gen.serve.unsupported");
  EXPECT_EQ(tag([](ServeOptions& o) { o.mesh.dp = 1 << 20, o.mesh.tp = 8; }), "gen.serve.large");
  EXPECT_EQ(tag([](ServeOptions& o) { o.prefill.dp = 1 << 14, o.batch = 1 << 14; }), "gen.serve.large");
  EXPECT_EQ(tag([](ServeOptions& o) { o.steps = 1 << 20; }), "gen.serve.large");
  EXPECT_EQ(tag([](ServeOptions& o) { o.contexts = {1 << 27}, o.chunk = 1; }), "gen.serve.large");
  EXPECT_EQ(tag([](ServeOptions& o) { o.peak_flop_per_s = o.memory_bytes_per_s = 1e-3; }), "gen.serve.large");
}

/// Of a layer's share of the cache in a tier: what came before is fetched, what is new is evicted.
TEST(Serve, ATierGivesAndTakesItsShareOfTheCache) {
  ServeOptions o = small();
  o.contexts = {24, 10};
  o.chunk = 10;
  o.steps = 2;
  o.mesh.tp = 2;
  o.kv_tier = "host";
  o.kv_tier_share = 0.25;
  const auto job = serve(o);
  ASSERT_TRUE(job) << job.error().message();
  const Trace& t = job->classes[0];
  std::map<std::string, double> sums;
  const StringId kind = t.strings.find("io_kind"), bytes = t.strings.find("bytes"),
                 tier = t.strings.find("storage_tier");
  for (const NodeId n : t.nodes()) {
    if (t.type[n] != NodeType::mem_load && t.type[n] != NodeType::mem_store) continue;
    std::string of;
    double size = 0;
    for (const trace::Attr& attr : t.attrs_of(n)) {
      if (attr.name == kind) of = *attr.text();
      if (attr.name == bytes) size = static_cast<double>(*attr.integer());
      if (attr.name == tier) EXPECT_EQ(attr.text(), "host");
    }
    EXPECT_EQ(of, t.type[n] == NodeType::mem_load ? "kv_fetch" : "kv_evict");
    sums[of] += size;
  }
  const Attention& a = o.model.blocks[0].attention;
  const double width = real(a.kv_heads) / 2 * real(a.head_dim + a.value_dim) * 2, layers = 4;
  // Chunks begin at 10 and 20 of 24; steps with 24 and 10, then 25 and 11 tokens before.
  EXPECT_EQ(sums["kv_fetch"], 0.25 * layers * width * (10 + 20 + 24 + 10 + 25 + 11));
  EXPECT_EQ(sums["kv_evict"], 0.25 * layers * width * (24 + 10 + 2 * 2));
  EXPECT_EQ(stats_of(o).classes[0].memory.cache, 0.75 * layers * width * (26 + 12));
}

}  // namespace
}  // namespace chakra::gen
