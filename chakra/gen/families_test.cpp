// Models that are no decoders, and multi-token prediction: operations and communication by their formulas.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "chakra/base/real.h"
#include "chakra/gen/testing/sums.h"

namespace chakra::gen {
namespace {

using namespace chakra::testing;
using model::Family, model::Model, model::ModelChange, model::changed, model::default_model, model::parse_config;

Model from(std::string_view text, bool mtp = false) {
  Findings findings;
  auto model = parse_config(text, "config.json", findings, {mtp});
  EXPECT_TRUE(model) << model.error().message();
  EXPECT_TRUE(findings.empty());
  return std::move(*model);
}

/// 16 patches of 12 numbers, one token more; width 32, 4 heads, 10 classes.
Model small_vit(int64_t layers) {
  return from(fmt::format(R"({{"model_type": "vit", "image_size": 8, "patch_size": 2, "hidden_size": 32,
      "num_attention_heads": 4, "intermediate_size": 64, "num_hidden_layers": {}, "num_labels": 10}})",
                          layers));
}
/// 16 patches of 16 numbers; 32 come out of each.
Model small_dit(int64_t layers) {
  return from(fmt::format(R"({{"model_type": "dit", "input_size": 8, "hidden_size": 32, "num_heads": 4,
      "mlp_ratio": 2, "num_classes": 10, "depth": {}}})",
                          layers));
}
Model small_dlrm() {
  return from(R"({"model_type": "dlrm", "name": "small", "dense": 13, "hidden": 16, "tables": 12, "rows": 1000,
      "lookups": 5, "bottom": [64, 16], "top": [48, 24, 1]})");
}
Model small_mlp(int64_t layers, int64_t width) {
  return from(fmt::format(R"({{"model_type": "mlp", "hidden": {}, "layers": {}}})", width, layers));
}
constexpr std::string_view kLatent = R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 8,
    "num_hidden_layers": 4, "vocab_size": 128, "intermediate_size": 96, "moe_intermediate_size": 32,
    "n_routed_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "kv_lora_rank": 16, "q_lora_rank": 32,
    "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8, "max_position_embeddings": 64,
    "num_nextn_predict_layers": 2})";

StepOptions options(Model model) {
  StepOptions o;
  o.model = std::move(model);
  o.micro_batches = 3;
  o.micro_batch_size = 2;
  o.zero = 0;
  return o;
}

/// Forward and backward of two images, as torch.utils.flop_counter counts transformers' ViT and DiT's own class.
TEST(Families, HaveTheOperationsThatTorchCounts) {
  for (const auto& [name, count] : {std::pair("vit-b16", 210'303'516'672.0), {"dit-xl2", 1'423'437'004'800.0}}) {
    StepOptions o = options(known(name));
    o.micro_batches = 1;
    EXPECT_EQ(stats_of(o).operations, count) << name;
  }
}

TEST(Families, RefuseWhatTheyHaveNot) {
  const auto tag = [](Model model, const auto& change) {
    StepOptions o = options(std::move(model));
    change(o);
    return tag_of(step(o));
  };
  EXPECT_EQ(tag(small_vit(2), [](StepOptions& o) { o.cp = 2; }), "gen.step.unsupported");
  EXPECT_EQ(tag(small_vit(2), [](StepOptions& o) { o.sequence = 16; }), "gen.step.range");
  EXPECT_EQ(tag(small_vit(2), [](StepOptions& o) { o.ep = 2; }), "gen.step.divide");
  EXPECT_EQ(tag(small_dit(2), [](StepOptions& o) { o.sequence = 17; }), "gen.step.range");
  EXPECT_EQ(tag(small_dit(2), [](StepOptions& o) { o.tp = 4, o.cp = 8; }), "gen.step.divide");
  EXPECT_EQ(tag(small_mlp(2, 8), [](StepOptions& o) { o.cp = 2; }), "gen.step.unsupported");
  EXPECT_EQ(tag(small_mlp(2, 8), [](StepOptions& o) { o.tp = 3; }), "gen.step.divide");
  EXPECT_EQ(tag(small_dlrm(), [](StepOptions& o) { o.tp = 2; }), "gen.step.unsupported");
  EXPECT_EQ(tag(small_dlrm(), [](StepOptions& o) { o.pp = 2; }), "gen.step.unsupported");
  EXPECT_EQ(tag(small_dlrm(), [](StepOptions& o) { o.cp = 2; }), "gen.step.unsupported");
  EXPECT_EQ(tag(small_dlrm(), [](StepOptions& o) { o.dp = 5; }), "gen.step.divide");
  EXPECT_EQ(tag(small_dlrm(), [](StepOptions& o) { o.ends = false; }), "gen.step.unsupported");
  EXPECT_EQ(tag(small_dlrm(), [](StepOptions& o) { o.dp = 4, o.zero = 1, o.zero_ranks = 2; }), "gen.step.unsupported");
  Model bias = from(kLatent, true);
  bias.head_bias = true;
  EXPECT_EQ(tag(bias, [](StepOptions&) {}), "gen.step.unsupported");
}

/// All ranks together write each element once, with Adam's 12 bytes; of tables Adagrad's 4 of a row.
TEST(Families, CheckpointsHoldEachElementOnce) {
  for (const auto& [model, tp, pp, dp] :
       std::vector<std::tuple<Model, int64_t, int64_t, int64_t>>{{small_vit(4), 2, 2, 2},
                                                                 {small_dit(4), 2, 2, 2},
                                                                 {small_mlp(6, 16), 4, 1, 2},
                                                                 {small_dlrm(), 1, 1, 4},
                                                                 {from(kLatent, true), 1, 2, 2},
                                                                 {from(kLatent, true), 2, 1, 2}}) {
    StepOptions o = options(model);
    o.tp = tp;
    o.pp = pp;
    o.dp = dp;
    o.storage.checkpoint_tier = "disk";
    double written = 0, ranks = 0;
    for (const ClassStats& rank : stats_of(o).classes) {
      ASSERT_EQ(rank.storage.size(), 1U);
      written += rank.storage[0].bytes * real(rank.ranks);
      ranks += real(rank.ranks);
    }
    const double rows = real(model.recommender.rows), tables = rows * real(model.hidden);
    EXPECT_NEAR(written, 14 * (real(parameters(model)) - tables) + 2 * tables + 4 * rows, ranks) << model.name;
  }
  StepOptions o = options(small_vit(2));
  o.storage.data_tier = "disk";
  EXPECT_EQ(tag_of(step(o)), "gen.step.unsupported");
  o.storage.sample_bytes = 100'000;
  EXPECT_EQ(stats_of(o).classes[0].storage[0].bytes, 3 * 2 * 100'000);
}

TEST(Families, OfAnyMeshCanBeCarriedOut) {
  Prng random(7);
  int made = 0;
  constexpr std::array<const char*, 4> schedules{"", "gpipe", "zb-h1", "dualpipe"};
  for (int i = 0; i < 200; ++i) {
    StepOptions o = options(i % 4 == 0   ? small_vit(4)
                            : i % 4 == 1 ? small_dit(4)
                            : i % 4 == 2 ? small_mlp(6, 16)
                                         : small_dlrm());
    o.tp = int64_t{1} << random.below(3);
    o.cp = int64_t{1} << random.below(2);
    o.dp = random.between(1, 4);
    o.pp = random.between(1, 4);
    o.micro_batches = random.between(1, 8);
    o.zero = random.between(0, 3);
    o.sequence_parallel = random.chance(0.6);
    o.keep_gathered = random.chance(0.4);
    o.overlap = random.chance(0.6);
    o.clip = random.chance(0.4);
    o.recompute = static_cast<Recompute>(random.below(3));
    o.context = static_cast<ContextKind>(random.below(3));
    o.schedule = schedules[random.below(schedules.size())];
    if (o.model.family == Family::recommender) o.tp = o.cp = o.pp = 1;
    if (o.model.family != Family::diffusion) o.cp = 1;
    const auto job = step(o);
    if (!job) {
      const std::string tag = tag_of(job);
      EXPECT_TRUE(tag == "gen.step.divide" || tag == "gen.step.layers") << job.error().message();
      continue;
    }
    ++made;
    const std::string shape = fmt::format("{} {} tp {} cp {} dp {} pp {} m {} zero {} {}", i, o.model.name, o.tp, o.cp,
                                          o.dp, o.pp, o.micro_batches, o.zero, o.schedule);
    const Outcome run(trace::expand(*job));
    EXPECT_EQ(run.disagreement, "") << shape;
    EXPECT_EQ(run.left, 0U) << shape;
  }
  EXPECT_GT(made, 120);
}

// ---- vision ----------------------------------------------------------------------------------------------------

constexpr int64_t kWidth = 32, kInner = 64;

/// FLOPs of the GEMMs of forward for an image of n patches of `numbers` numbers and one token more.
double vit_forward(int64_t layers, double n, double numbers, double h, double inner, double classes) {
  const double t = n + 1;
  return 2 * n * numbers * h + real(layers) * (8 * t * h * h + 4 * t * t * h + 4 * t * h * inner) + 2 * h * classes;
}

TEST(Vision, OperationsAreTheFormulas) {
  const double pictures = 3 * 2 * 4, patches = 2.0 * 16 * 12 * kWidth;
  const double all = pictures * (3 * vit_forward(4, 16, 12, kWidth, kInner, 10) - patches);  // of data no gradient
  for (const auto& [tp, pp, dp] : {std::array<int64_t, 3>{1, 1, 4}, {1, 2, 4}, {2, 1, 4}, {4, 4, 4}}) {
    StepOptions o = options(small_vit(4));
    o.tp = tp;
    o.pp = pp;
    o.dp = dp;
    o.model.vocabulary = 12;
    const StepStats s = stats_of(o);
    const double head = pictures * 3 * 2 * kWidth * 2.0;  // 12 classes instead of 10
    const double surplus = real(tp - 1) * pictures * 2 * patches;
    EXPECT_DOUBLE_EQ(s.operations, all + head + surplus) << tp << pp;
    EXPECT_EQ(s.surplus.size(), tp > 1 ? 1U : 0U);
    if (tp > 1) {
      EXPECT_EQ(s.surplus[0].name, "patches");
      EXPECT_DOUBLE_EQ(s.surplus[0].operations, surplus);
    }
  }
  StepOptions o = options(known("vit-b16"));
  o.micro_batches = o.micro_batch_size = 1;
  const double forward = vit_forward(12, 196, 768, 768, 3072, 1000);
  EXPECT_NEAR(forward / 2, 17.56e9, 0.02e9);  // multiply-adds, as published for ViT-B/16
  EXPECT_DOUBLE_EQ(stats_of(o).operations, 3 * forward - 2.0 * 196 * 768 * 768);
}

TEST(Vision, CommunicationIsTheFormulas) {
  const int64_t m = 3, layers = 4;
  StepOptions o = options(small_vit(layers));
  o.model.vocabulary = 12;
  o.tp = 2;
  const double n = 2 * 17 * kWidth * 2, pooled = 2 * kWidth * 2, numbers = 2 * 4;
  Sums s = sums(o);
  EXPECT_EQ(s["tp ALL_REDUCE"],
            std::pair(m * (4 * layers + 1 + 3), real(m) * (4 * real(layers) * n + pooled + 3 * numbers)));
  EXPECT_EQ(s.size(), 1U);
  o.pp = 2;
  s = sums(o);
  EXPECT_EQ(s["pp SEND"], std::pair(m, real(m) * n));
  EXPECT_EQ(s["pp RECV"], std::pair(m, real(m) * n));
  o.tp = o.pp = 1;
  o.dp = 4;
  s = sums(o);
  EXPECT_EQ(s["dp ALL_REDUCE"], std::pair(layers + 2, 4 * real(parameters(o.model))));
  o.zero = 3;
  s = sums(o);
  EXPECT_EQ(s["dp REDUCE_SCATTER"].first, m * (layers + 2));
  EXPECT_EQ(s["dp ALL_GATHER"].first, 2 * m * (layers + 2));
}

// ---- diffusion -------------------------------------------------------------------------------------------------

/// FLOPs of the GEMMs of forward for an image of n patches of `in` numbers, which yield `out` numbers each.
double dit_forward(int64_t layers, double n, double in, double out, double h, double inner) {
  const double layer = 12 * h * h + 8 * n * h * h + 4 * n * n * h + 4 * n * h * inner;
  return 2 * n * in * h + 2 * 256 * h + 2 * h * h + real(layers) * layer + 4 * h * h + 2 * n * h * out;
}

TEST(Diffusion, OperationsAreTheFormulas) {
  const double pictures = 3 * 2 * 4, data = 2.0 * 16 * 16 * kWidth + 2.0 * 256 * kWidth;
  const double all = pictures * (3 * dit_forward(4, 16, 16, 32, kWidth, kInner) - data);
  const double time = pictures * (3 * (2.0 * 256 * kWidth + 2.0 * kWidth * kWidth) - 2.0 * 256 * kWidth);
  const double modulation = pictures * 3 * (4 * 12.0 + 4) * kWidth * kWidth;
  for (const auto& [tp, cp, pp] : {std::array<int64_t, 3>{1, 1, 1}, {4, 1, 1}, {2, 2, 2}, {1, 4, 1}, {4, 2, 4}}) {
    StepOptions o = options(small_dit(4));
    o.tp = tp;
    o.cp = cp;
    o.pp = pp;
    o.dp = 4;
    const StepStats s = stats_of(o);
    // Each rank of an image computes the embedding of time; ranks with other tokens also compute the modulation.
    const double surplus = time * real(tp * cp - 1) + modulation * real(cp - 1);
    EXPECT_DOUBLE_EQ(s.operations, all + surplus) << tp << cp << pp;
    double named = 0;
    for (const Surplus& row : s.surplus) named += row.operations;
    EXPECT_NEAR(named, surplus, 1e-6 * all);
  }
  // Multiply-adds of DiT-XL/2, as published.
  EXPECT_NEAR(dit_forward(28, 256, 16, 32, 1152, 4 * 1152) / 2, 118.64e9, 0.03e9);
}

TEST(Diffusion, CommunicationIsTheFormulas) {
  const int64_t m = 3, layers = 4, t = 2;
  StepOptions o = options(small_dit(layers));
  o.tp = t;
  const double n = 2 * 16 * kWidth * 2, vector = 2 * kWidth * 2, ls = real(layers);
  Sums s = sums(o);
  EXPECT_EQ(s["tp ALL_GATHER"], std::pair(m * (7 * layers + 1), real(m) * (ls * (6 * n + 6 * vector) + 2 * vector)));
  EXPECT_EQ(s["tp REDUCE_SCATTER"],
            std::pair(m * (5 * layers + 1), real(m) * (ls * (4 * n + 6 * vector) + 2 * vector)));
  // Once a step, parameters that are not sharded: biases after sums, patches, time, labels, and the last GEMM.
  const double whole = ls * 2 * kWidth + 17 * kWidth + 257 * kWidth + 33 * kWidth + 11 * kWidth + 33 * 32;
  EXPECT_EQ(s["tp ALL_REDUCE"], std::pair(int64_t{1}, 4 * whole));
  o.sequence_parallel = false;
  s = sums(o);
  EXPECT_EQ(s["tp ALL_GATHER"], std::pair(m * (layers + 1), real(m) * (ls * 6 * vector + 2 * vector)));
  // What is before the condition has terms of each rank's columns.
  EXPECT_EQ(s["tp ALL_REDUCE"], std::pair(m * 4 * layers + 1, real(m) * 4 * ls * n + 4.0 * (257 + 33 + 11) * kWidth));
  EXPECT_EQ(s.size(), 2U);
  o.tp = 1;
  o.cp = 4;
  o.pp = 2;
  s = sums(o);
  EXPECT_EQ(s["pp SEND"], std::pair(m, real(m) * (n / 4 + vector)));
  EXPECT_EQ(s["cp SEND"], std::pair(m * 2 * 9, real(m) * 2 * 9 * 2 * n / 4));
  EXPECT_EQ(s["dp-cp ALL_REDUCE"].second, 4 * stats_of(o).classes[0].parameters);
  EXPECT_EQ(s.size(), 5U);
}

/// Of a layer: inputs of norms and modulations, of GEMMs, queries, keys, values, what the activation takes; c, and
/// what it modulates with.
TEST(Diffusion, MemoryIsTheFormula) {
  StepOptions o = options(small_dit(4));
  o.micro_batches = 1;
  o.ends = false;
  const double n = 2 * 16 * kWidth * 2, vector = 2 * kWidth * 2;
  EXPECT_DOUBLE_EQ(stats_of(o).classes[0].memory.activations_peak, 4 * ((12 + 2 * 2) * n + 8 * vector));
  o.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(stats_of(o).classes[0].memory.activations_peak, 4 * (n + vector));
}

// ---- plain numbers ---------------------------------------------------------------------------------------------

/// m x k times k x n, all 512, on M x D ranks: generation.md 3.
TEST(Mlp, CommunicationIsThePapers) {
  const int64_t layers = 6;
  const double width = 512, e = 2;
  for (const auto& [model, data] : {std::pair<int64_t, int64_t>{64, 1}, {1, 64}, {8, 8}, {16, 4}}) {
    StepOptions o = options(known("mlp-6"));
    o.micro_batches = 1;
    o.micro_batch_size = 512 / data;
    o.gradient_bytes = 2;
    o.tp = model;
    o.dp = data;
    Sums s = sums(o);
    const double rows = width / real(data), columns = width / real(model);
    size_t kinds = 0;
    if (model > 1) {
      EXPECT_EQ(s["tp ALL_GATHER"], std::pair(layers, real(layers * model) * rows * columns * e));
      EXPECT_EQ(s["tp ALL_REDUCE"], std::pair(layers - 1, real(layers - 1) * rows * width * e));
      kinds += 2;
    }
    if (data > 1) {
      EXPECT_EQ(s["dp ALL_REDUCE"], std::pair(layers, real(layers) * width * columns * e));
      ++kinds;
    }
    EXPECT_EQ(s.size(), kinds);
    EXPECT_DOUBLE_EQ(stats_of(o).operations, (3 * 6 - 1) * 2 * width * width * width);
  }
}

TEST(Mlp, TakesAsLongAsThePaperSays) {
  StepOptions o = options(known("mlp-6"));
  o.micro_batches = 1;
  o.micro_batch_size = 512;
  o.tp = 64;
  o.peak_flop_per_s = 2.0 * 512 * 512 * 1e9;
  o.efficiency = 1;
  o.memory_bytes_per_s = 1e24;
  const trace::ClassJob job = step(o).value();
  const Trace& t = job.classes[0];
  int products = 0;
  for (const NodeId n : t.nodes()) {
    if (t.type[n] == NodeType::coll) {
      const trace::Comm& c = *t.comm(n);
      EXPECT_EQ(c.bytes, c.type == trace::CommType::all_gather ? 8'192U : 524'288U);
    } else if (t.num_ops[n] > 0) {
      EXPECT_EQ(t.dur_ps[n], 8 * kPsPerNs) << t.name_of(n);
      ++products;
    }
  }
  EXPECT_EQ(products, 3 * 6 - 1);
}

TEST(Recommender, CommunicationAndOperationsAreTheFormulas) {
  const int64_t m = 3;
  for (const int64_t ranks : {2, 4, 12}) {
    StepOptions o = options(small_dlrm());
    o.dp = ranks;
    const double all = 2 * real(ranks), vectors = all * 12 / real(ranks) * 16 * 2;  // of a rank's tables, all examples
    Sums s = sums(o);
    EXPECT_EQ(s["tables ALL_TO_ALL"], std::pair(2 * m, 2 * real(m) * vectors));
    const double bottom = 13 * 64 + 64 + 64 * 16 + 16, pairs = 13 * 12 / 2;
    const double in = 16 + pairs, top = in * 48 + 48 + 48 * 24 + 24 + 24 + 1;
    EXPECT_EQ(s["dp ALL_REDUCE"], std::pair(int64_t{2}, 4 * (bottom + top)));
    EXPECT_EQ(s.size(), 2U);
    const StepStats stats = stats_of(o);
    const double forward = 2 * (13 * 64 + 64 * 16) + 2 * 13 * 13 * 16 + 2 * (in * 48 + 48 * 24 + 24);
    EXPECT_DOUBLE_EQ(stats.operations, real(m) * all * (3 * forward - 2 * 13 * 64));
    EXPECT_TRUE(stats.surplus.empty());
    EXPECT_DOUBLE_EQ(stats.classes[0].parameters, bottom + top + 12'000.0 * 16 / real(ranks));
    EXPECT_DOUBLE_EQ(stats.classes[0].memory.parameters, 2 * stats.classes[0].parameters);
    EXPECT_DOUBLE_EQ(stats.classes[0].memory.gradients, 4 * (bottom + top));
    EXPECT_DOUBLE_EQ(stats.classes[0].memory.optimizer, 12 * (bottom + top) + 4 * 12'000 / real(ranks));
    const trace::ClassJob job = step(o).value();
    const Trace& t = job.classes[0];
    std::map<std::string_view, NodeId> first;
    for (const NodeId n : t.nodes()) first.try_emplace(t.name_of(n), n);
    EXPECT_EQ(t.tensor_bytes[first["embedding.tables"]], static_cast<uint64_t>((5 + 1) * vectors));
    EXPECT_EQ(t.tensor_bytes[first["embedding.tables.grad"]], static_cast<uint64_t>((2 * 5 + 1) * vectors));
    EXPECT_EQ(t.num_ops[first["head.interaction"]], static_cast<uint64_t>(2 * 2 * 13 * 13 * 16));
    // The vectors travel beside the first MLP, and their gradients beside its own.
    EXPECT_LT(first["embedding.tables.all_to_all"], first["embedding.bottom0"]);
    EXPECT_LT(first["embedding.tables.grad.all_to_all"], first["embedding.bottom1.dgrad"]);
  }
}

// ---- multi-token prediction ------------------------------------------------------------------------------------

TEST(Prediction, AddsWhatItsLayersHave) {
  StepOptions with = options(from(kLatent, true)), without = options(with.model);
  without.model.mtp_layers = 0;
  const double tokens = 3 * 2 * 64;
  const double layer = 2.0 * 64 * 32 + 2.0 * 32 * 96 + 2.0 * 64 * 20 + 2.0 * 16 * 128 + 2.0 * 64 * 64 +
                       64.0 * 8 * (12 + 8) + 2.0 * 64 * 8 + 3 * 3 * 2.0 * 64 * 32;
  for (const auto& [tp, pp, dp, ep] : {std::array<int64_t, 4>{1, 1, 1, 1}, {2, 2, 2, 2}, {1, 4, 1, 1}}) {
    for (StepOptions* o : {&with, &without}) o->tp = tp, o->pp = pp, o->dp = dp, o->ep = ep;
    const StepStats a = stats_of(with), b = stats_of(without);
    EXPECT_DOUBLE_EQ(a.operations - b.operations,
                     2 * 3 * tokens * real(dp) * (layer + 2.0 * 128 * 64 + 2.0 * 64 * 128));
    EXPECT_EQ(a.parameters - b.parameters, parameters(with.model) - parameters(without.model));
  }
}

TEST(Prediction, SharesTheTablesOfTheModel) {
  StepOptions o = options(from(kLatent, true));
  EXPECT_EQ(stats_of(o).classes[0].parameters, real(parameters(o.model)));
  o.pp = 2;
  const StepStats two = stats_of(o);
  const double table = 128 * 64;  // the last stage has one, too
  EXPECT_EQ(two.classes[0].parameters + two.classes[1].parameters, real(parameters(o.model)) + table);
  for (const size_t stage : {0, 1}) EXPECT_EQ(sums(o, stage)["tied ALL_REDUCE"], std::pair(int64_t{1}, 4 * table));
  o.model.tied = true;  // then it has one anyway
  const StepStats tied = stats_of(o);
  EXPECT_EQ(tied.classes[0].parameters + tied.classes[1].parameters, real(parameters(o.model)) + table);
  o.model.mtp_layers = 0;
  EXPECT_EQ(sums(o, 1)["tied ALL_REDUCE"], std::pair(int64_t{1}, 4 * table));
}

TEST(Prediction, CommunicatesAsALayerAndAHead) {
  const int64_t m = 3;
  StepOptions o = options(changed(default_model(),
                                  [] {
                                    ModelChange c;
                                    c.layers = 4, c.hidden = 64, c.ffn = 128, c.heads = 8, c.vocabulary = 128;
                                    return c;
                                  }())
                              .value());
  o.sequence = 64;
  o.tp = 2;
  Sums without = sums(o);
  o.model.mtp_layers = 1;
  Sums with = sums(o);
  const double n = 2 * 64 * 64 * 2;
  // A layer: 6 and 4. The table: a scatter, a gather backward. The head: two gathers, a scatter.
  EXPECT_EQ(with["tp ALL_GATHER"].first - without["tp ALL_GATHER"].first, m * (6 + 1 + 2));
  EXPECT_EQ(with["tp ALL_GATHER"].second - without["tp ALL_GATHER"].second, real(m) * 9 * n);
  EXPECT_EQ(with["tp REDUCE_SCATTER"].first - without["tp REDUCE_SCATTER"].first, m * (4 + 1 + 1));
  EXPECT_EQ(with["tp ALL_REDUCE"].first - without["tp ALL_REDUCE"].first, m * 3);
  // Norms, and the projection of each rank's tokens.
  EXPECT_EQ(with["tp ALL_REDUCE"].second - without["tp ALL_REDUCE"].second,
            real(m) * 3 * 2 * 64 * 4 + 4 * (5 * 64 + 2.0 * 64 * 64));
}

TEST(Prediction, OfAnyMeshCanBeCarriedOut) {
  Prng random(9);
  int made = 0;
  for (int i = 0; i < 60; ++i) {
    StepOptions o = options(from(kLatent, true));
    o.tp = int64_t{1} << random.below(2);
    o.dp = int64_t{1} << random.below(3);
    o.ep = int64_t{1} << random.below(3);
    o.etp = 1;
    o.pp = random.between(1, 4);
    o.micro_batches = 8;
    o.zero = random.between(0, 3);
    o.recompute = static_cast<Recompute>(random.below(3));
    o.schedule = std::array{"", "gpipe", "zb-h1", "dualpipe"}[random.below(4)];
    const auto job = step(o);
    if (!job) continue;
    ++made;
    const Outcome run(trace::expand(*job));
    EXPECT_EQ(run.disagreement, "") << i;
    EXPECT_EQ(run.left, 0U) << i;
  }
  EXPECT_GT(made, 25);
}

}  // namespace
}  // namespace chakra::gen
