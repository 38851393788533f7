// Experts, context parallelism, recomputation, further schedules: communication and operations by their formulas.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "chakra/base/real.h"
#include "chakra/gen/mesh.h"
#include "chakra/gen/placement.h"
#include "chakra/gen/testing/sums.h"

namespace chakra::gen {
namespace {

using namespace chakra::testing;
using model::Attention, model::Dim, model::Experts, model::Family, model::Model, model::ModelChange, model::ModelRow,
    model::changed, model::default_model, model::find_model, model::models;
using trace::CommType;

constexpr int64_t kHidden = 64, kHeads = 8, kKvHeads = 4, kHead = 8, kWords = 128, kTokens = 64, kWidth = 128;

Model dense_model(int64_t layers) {
  ModelChange change;
  change.layers = layers;
  change.hidden = kHidden;
  change.ffn = kWidth;
  change.heads = kHeads;
  change.kv_heads = kKvHeads;
  change.vocabulary = kWords;
  return changed(default_model(), change).value();
}
Model expert_model(int64_t layers, int64_t shared) {
  Model model = dense_model(layers);
  Experts experts;
  experts.count = 8;
  experts.active = 2;
  experts.width = kWidth;
  experts.shared_width = shared;
  model.blocks[0].experts = experts;
  return model;
}
StepOptions options(Model model) {
  StepOptions o;
  o.model = std::move(model);
  o.sequence = kTokens;
  o.micro_batches = 4;
  return o;
}

TEST(Experts, CommunicationIsTheFormulas) {
  const int64_t layers = 3, m = 4;
  for (const int64_t etp : {1, 2})
    for (const int64_t shared : {int64_t{0}, 2 * kWidth}) {
      StepOptions o = options(expert_model(layers, shared));
      o.tp = 2;
      o.dp = 4;
      o.ep = 4;
      o.etp = etp;
      o.zero = 0;
      Sums s = sums(o);
      const double routed = kTokens / 2 * 2 * kHidden * 2;  // a rank's tokens, each to two experts
      EXPECT_EQ(s["ep ALL_TO_ALL"], std::pair(m * 4 * layers, real(m * 4 * layers) * routed));
      const int64_t more = shared > 0 ? 1 : 0;
      const double n = kTokens * kHidden * 2;
      const int64_t gathers = m * ((3 + 3 * more) * layers + 3), scatters = m * ((2 + 2 * more) * layers + 2);
      EXPECT_EQ(s["tp ALL_GATHER"], std::pair(gathers, real(gathers) * n));
      EXPECT_EQ(s["tp REDUCE_SCATTER"], std::pair(scatters, real(scatters) * n));
      if (etp == 2) {
        EXPECT_EQ(s["etp ALL_GATHER"], std::pair(m * 2 * layers, real(m * 2 * layers) * 2 * routed));
        EXPECT_EQ(s["etp REDUCE_SCATTER"], std::pair(m * 2 * layers, real(m * 2 * layers) * 2 * routed));
        EXPECT_FALSE(s.contains("edp ALL_REDUCE"));  // 8 ranks are 2 x 4
      } else {
        EXPECT_EQ(s["edp ALL_REDUCE"], std::pair(layers, real(layers) * 2 * 3 * kHidden * kWidth * 4));
      }
      // Sums over dp are of all that is not in experts, which tp shares out but for norms and router.
      const double norms = real(2 * layers + 1) * kHidden, router = real(layers) * kHidden * 8;
      const double whole = real(parameters(o.model)) - real(layers) * 8 * 3 * kHidden * kWidth;
      EXPECT_EQ(s["dp ALL_REDUCE"], std::pair(layers + 2, 4 * ((whole - norms - router) / 2 + norms + router)));
      EXPECT_EQ(s["tp ALL_REDUCE"].second, 4 * (norms + router) + real(m) * 3 * kTokens * 4);
    }
}

TEST(Experts, OperationsAreTheSameOnAllMeshes) {
  const double token = 2.0 * kHidden * kHead * (2 * kHeads + 2 * kKvHeads) + 2.0 * kTokens * kHeads * kHead +
                       2.0 * kHidden * 8 + 2 * 3 * 2.0 * kHidden * kWidth + 3 * 2.0 * kHidden * kWidth;
  const double all = 3.0 * 4 * 8 * kTokens * (2 * token + 2.0 * kHidden * kWords);
  for (const auto& [tp, dp, ep, etp] :
       {std::array<int64_t, 4>{1, 8, 1, 1}, {1, 8, 8, 1}, {2, 8, 4, 2}, {2, 8, 8, 1}, {4, 8, 8, 4}, {4, 8, 2, 2}}) {
    StepOptions o = options(expert_model(2, kWidth));
    o.tp = tp;
    o.dp = dp;
    o.ep = ep;
    o.etp = etp;
    EXPECT_DOUBLE_EQ(operations(o), all) << tp << dp << ep << etp;
  }
}

TEST(Experts, RefuseWhatCannotBe) {
  StepOptions o = options(expert_model(2, 0));
  o.dp = 6;
  o.ep = 4;
  EXPECT_EQ(tag_of(step(o)), "gen.step.divide");
  o.ep = 3;
  EXPECT_EQ(tag_of(step(o)), "gen.step.divide");
  o.dp = 4;
  o.ep = 1;
  o.tp = 2;
  o.sequence_parallel = false;
  EXPECT_EQ(tag_of(step(o)), "gen.step.divide");
}

TEST(Latent, GathersWhatItProjectsDown) {
  StepOptions o = options(dense_model(2));
  Attention& a = o.model.blocks[0].attention;
  a.kv_heads = kHeads;
  a.q_rank = 32;
  a.kv_rank = 16;
  a.rope_dim = 4;
  o.tp = 2;
  o.micro_batches = 1;
  Sums s = sums(o);
  // A layer: forward of queries, of keys and values, of the MLP; the same again; backward of the two sums.
  const double per_layer = 2.0 * kTokens * (32 + 20 + kHidden) * 2 + 2.0 * kTokens * kHidden * 2;
  EXPECT_EQ(s["tp ALL_GATHER"], std::pair(int64_t{2 * 8 + 3}, 2 * per_layer + 3.0 * kTokens * kHidden * 2));
  EXPECT_EQ(s["tp REDUCE_SCATTER"],
            std::pair(int64_t{2 * 5 + 2}, 2.0 * kTokens * (32 + 20 + 3 * kHidden) * 2 + 2.0 * kTokens * kHidden * 2));
  const double token = 2.0 * kHidden * 32 + 2.0 * 32 * kHeads * kHead + 2.0 * kHidden * 20 +
                       2.0 * 16 * kHeads * (kHead - 4 + kHead) + 2.0 * kTokens * kHeads * kHead +
                       2.0 * kHeads * kHead * kHidden + 3 * 2.0 * kHidden * kWidth;
  for (const bool sequence_parallel : {true, false}) {
    o.sequence_parallel = sequence_parallel;
    const double surplus = sequence_parallel ? 0 : 2 * 2.0 * kHidden * (32 + 20);  // both ranks project down
    EXPECT_DOUBLE_EQ(operations(o), 3.0 * kTokens * (2 * token + surplus + 2.0 * kHidden * kWords));
    double named = 0;
    const StepStats all = stats(o, *step(o)).value();
    for (const Surplus& row : all.surplus) named += row.operations;
    EXPECT_DOUBLE_EQ(named, 3.0 * kTokens * surplus);
  }
}

TEST(Context, CommunicationIsTheFormulas) {
  const int64_t layers = 3, m = 4;
  StepOptions o = options(dense_model(layers));
  o.cp = 4;
  o.dp = 2;
  o.zero = 0;
  const double kv = 2.0 * kTokens * kKvHeads * kHead * 2;  // keys and values of all tokens
  const double all = operations([&] {
    StepOptions one = o;
    one.cp = 1;
    return one;
  }());
  for (const ContextKind kind : {ContextKind::ring, ContextKind::gather, ContextKind::all_to_all}) {
    o.context = kind;
    Sums s = sums(o);
    EXPECT_EQ(s["dp-cp ALL_REDUCE"], std::pair(layers + 2, 4 * real(parameters(o.model))));
    EXPECT_DOUBLE_EQ(operations(o), all);
    if (kind == ContextKind::ring) {
      EXPECT_EQ(s["cp SEND"], std::pair(m * layers * 9, real(m * layers * 9) * kv / 4));
      EXPECT_EQ(s["cp RECV"], s["cp SEND"]);
    } else if (kind == ContextKind::gather) {
      EXPECT_EQ(s["cp ALL_GATHER"], std::pair(m * layers * 2, real(m * layers) * kv));
      EXPECT_EQ(s["cp REDUCE_SCATTER"], std::pair(m * layers * 2, real(m * layers) * kv));
    } else {
      const double q = kTokens / 4 * kHeads * kHead * 2;
      EXPECT_EQ(s["cp ALL_TO_ALL"], std::pair(m * layers * 8, real(m * layers) * 2 * (2 * q + kv / 4)));
    }
    EXPECT_EQ(s.size(), kind == ContextKind::all_to_all ? 2U : 3U);
  }
  o.cp = 8;  // of 4 heads of keys
  EXPECT_EQ(tag_of(step(o)), "gen.step.divide");
}

/// The rotary part of latent attention is one for all heads, and goes round as a part of each head's key.
TEST(Context, LatentAttentionSendsWholeKeys) {
  ModelChange change;
  change.layers = 4;
  change.heads = 16;
  StepOptions o;
  o.model = changed(find_model("deepseek-v3")->model, change).value();
  o.sequence = 1024;
  o.cp = 4;
  o.micro_batches = 1;
  o.ends = false;
  const double part = 1024.0 / 4 * 16 * (128 + 64 + 128) * 2;  // nope, rope, values
  EXPECT_EQ(sums(o)["cp SEND"], std::pair(int64_t{4 * 9}, 4 * 9 * part));
}

// Scores are written and read by each kernel: in forward by the GEMM, softmax (twice), dropout (twice) and the second
// GEMM; in backward by two GEMMs, dropout (twice), softmax (three times) and two GEMMs. The mask has a byte.
TEST(Attention, InKernelsMovesItsScores) {
  StepOptions o = options(dense_model(1));
  o.micro_batches = 1;
  const auto bytes = [&](std::string_view begin) {
    const auto job = step(o);
    double sum = 0;
    const trace::Trace& t = job->classes[0];
    for (const trace::NodeId n : t.nodes())
      if (t.name_of(n).starts_with(begin)) sum += real(static_cast<int64_t>(t.tensor_bytes[n]));
    return sum;
  };
  const double scores = real(kHeads) * kTokens * kTokens, vectors = real(kTokens) * kHeads * kHead * 2;
  for (const bool dropout : {false, true}) {
    o.dropout = dropout;
    o.fused_attention = false;
    const double masks = dropout ? 2 * (2 * 2 + 1) * scores : 0;
    double all = 0;
    for (const char* kernel :
         {"layer0.attention.scores", "layer0.attention.softmax", "layer0.attention.dropout", "layer0.attention.values"})
      all += bytes(kernel);
    EXPECT_DOUBLE_EQ(all, (4 + 7) * 2 * scores + masks + 9 * vectors);
    o.fused_attention = true;
    EXPECT_EQ(bytes("layer0.attention.scores"), 0);
  }
}

// Each of two ranks has half of the queries, which meet the keys in two parts: queries and results move twice, scores
// once, where they are in memory.
TEST(Attention, OnARingMovesItsScoresOnce) {
  StepOptions o = options(dense_model(1));
  o.micro_batches = 1;
  o.cp = 2;
  o.recompute = Recompute::selective;
  const double scores = real(kHeads) * kTokens / 2 * kTokens, vectors = real(kTokens) / 2 * kHeads * kHead * 2;
  for (const bool fused : {false, true}) {
    o.fused_attention = fused;
    const auto job = step(o);
    ASSERT_TRUE(job);
    const trace::Trace& t = job->classes[0];
    std::map<std::string_view, double> bytes;
    for (const trace::NodeId n : t.nodes()) bytes[t.name_of(n)] += real(static_cast<int64_t>(t.tensor_bytes[n]));
    for (const auto& [name, passes] : {std::pair("layer0.attention", 1), std::pair("layer0.attention.again", 1),
                                       std::pair("layer0.attention.grad", 2)})
      EXPECT_DOUBLE_EQ(bytes[name], passes * ((fused ? 0 : 4 * 2 * scores) + 2 * 3 * vectors)) << name << fused;
  }
}

TEST(Recompute, OperationsAndMemoryAreTheFormulas) {
  const int64_t layers = 3;
  StepOptions o = options(dense_model(layers));
  o.tp = 2;
  const double tokens = 4.0 * kTokens, attention = 2.0 * kTokens * kHeads * kHead * real(layers) * tokens;
  const double head = 2.0 * kHidden * kWords * tokens, all = operations(o);
  o.recompute = Recompute::selective;
  EXPECT_DOUBLE_EQ(operations(o), all + attention / 2);  // scores only: the kernel keeps its result
  o.fused_attention = false;
  EXPECT_DOUBLE_EQ(operations(o), all + attention);
  o.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(operations(o), all + all / 3 - head);
  Sums s = sums(o);
  EXPECT_EQ(s["tp ALL_GATHER"].first, 4 * (8 * layers + 3));
  EXPECT_EQ(s["tp REDUCE_SCATTER"].first, 4 * (6 * layers + 2));
  o.ends = false;
  EXPECT_DOUBLE_EQ(stats(o, *step(o))->classes[0].memory.activations_peak, 2.0 * kTokens * kHidden * real(layers) / 2);
}

TEST(Recompute, ScoresOfLatentAttentionAreMoreThanHalf) {  // keys are 192 wide, values 128
  StepOptions o = options(find_model("deepseek-v3")->model);
  o.model.layers.resize(4);
  o.micro_batches = 1;
  const double before = operations(o);
  o.recompute = Recompute::selective;
  EXPECT_DOUBLE_EQ(operations(o) - before, 4.0 * kTokens * 2 * (kTokens / 2) * 128 * 192);
}

TEST(HybridSharding, SumsOverTwoGroups) {
  StepOptions o = options(dense_model(2));
  o.dp = 8;
  o.zero = 1;
  o.zero_ranks = 4;
  const double p = real(parameters(o.model));
  Sums s = sums(o);
  EXPECT_EQ(s["shard REDUCE_SCATTER"], std::pair(int64_t{4}, 4 * p));
  EXPECT_EQ(s["shard ALL_GATHER"], std::pair(int64_t{4}, 2 * p));
  EXPECT_EQ(s["replica ALL_REDUCE"], std::pair(int64_t{4}, 4 * p / 4));
  EXPECT_EQ(s.size(), 3U);
  EXPECT_DOUBLE_EQ(stats(o, *step(o))->classes[0].memory.optimizer, 12 * p / 4);
  const auto job = step(o);
  const Trace last = trace::concrete(*job, 7);
  EXPECT_EQ(last.groups[0].ranks, (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(last.groups[1].ranks, (std::vector<int64_t>{3, 7}));
  o.zero_ranks = 3;
  EXPECT_EQ(tag_of(step(o)), "gen.step.divide");
}

/// Times of forward, gradient of inputs and of weights of a piece, as its nodes have them.
struct Times {
  Picoseconds forward = 0, inputs = 0, weights = 0;
};
Times times(StepOptions o, int64_t layers) {
  o.model.layers.resize(static_cast<size_t>(layers));
  o.pp = 1;
  o.schedule = "";
  o.micro_batches = 1;
  const trace::ClassJob job = step(o).value();
  const Trace& t = job.classes[0];
  Times result;
  bool backward = false;
  for (const NodeId n : t.nodes()) {
    const std::string_view name = t.name_of(n);
    if (name.ends_with("optimizer")) continue;
    backward |= name.find("grad") != std::string_view::npos;
    (name.ends_with(".wgrad") ? result.weights : backward ? result.inputs : result.forward) += t.dur_ps[n];
  }
  return result;
}

TEST(Schedules, FurtherOnesIdleAsTheirFormulasSay) {
  for (const char* name : {"zb-h1", "dualpipe"})
    for (const int64_t p : {2, 4, 8}) {
      StepOptions o = options(dense_model(p * 2));
      o.pp = p;
      o.ends = false;
      o.micro_batches = 4 * p;
      o.schedule = name;
      const auto job = step(o);
      ASSERT_TRUE(job) << job.error().message();
      const Outcome run(trace::expand(*job));
      ASSERT_EQ(run.disagreement, "");
      ASSERT_EQ(run.left, 0U) << name << p;
      const Picoseconds all = *std::max_element(run.finish.begin(), run.finish.end());
      const Times t = times(o, 2);
      const Picoseconds idle = o.schedule == "zb-h1"
                                   ? (p - 1) * (t.forward + t.inputs - t.weights)
                                   : (p / 2 - 1) * (t.forward + t.inputs + t.weights + t.inputs - 2 * t.weights);
      for (const Picoseconds busy : run.busy)
        EXPECT_NEAR(static_cast<double>(all - busy), static_cast<double>(idle), 0.01 * static_cast<double>(all))
            << name << " " << p;
    }
}

TEST(Schedules, TwoCopiesOfTheModel) {
  StepOptions o = options(dense_model(8));
  o.pp = 4;
  o.micro_batches = 8;
  o.schedule = "dualpipe";
  const auto job = step(o);
  ASSERT_TRUE(job) << job.error().message();
  const auto all = stats(o, *job);
  double held = 0;
  for (const ClassStats& c : all->classes) held += c.parameters;
  EXPECT_DOUBLE_EQ(held, 2 * real(parameters(o.model)));
  for (size_t stage = 0; stage < 4; ++stage)
    EXPECT_EQ(sums(o, stage)["copy ALL_REDUCE"], std::pair(int64_t{1}, 4 * all->classes[stage].parameters));
  o.schedule = "";
  EXPECT_DOUBLE_EQ(all->operations, operations(o));
}

/// Weights of operators, counted one by one, are what the model counts by parts.
TEST(Models, HaveTheSameParametersInOperators) {
  for (const ModelRow& row : models()) {
    StepOptions o;
    o.model = row.model;
    if (row.model.family == Family::decoder) o.sequence = 64;
    o.micro_batches = 1;
    const auto job = step(o);
    ASSERT_TRUE(job) << row.name << job.error().message();
    const StepStats all = stats(o, *job).value();
    EXPECT_EQ(all.classes[0].parameters, real(parameters(row.model))) << row.name;
  }
}

TEST(Meshes, GroupsPartitionTheRanks) {
  for (const auto& [tp, cp, dp, pp, etp, ep] :
       {std::array<int64_t, 6>{2, 3, 4, 2, 2, 4}, {1, 1, 8, 2, 1, 8}, {4, 2, 2, 3, 1, 16}}) {
    Mesh mesh;
    mesh.size = {tp, cp, dp, etp, ep, tp * cp * dp / (etp * ep), pp};
    for (const char* order : {"tp-cp-ep-dp-pp", "pp-tp-cp-ep-dp", "dp-ep-cp-tp-pp"}) {
      const auto placed = ordered(mesh, order);
      ASSERT_TRUE(placed) << placed.error().message();
      for (const Axis axis : {Axis::tp, Axis::cp, Axis::dp, Axis::etp, Axis::ep, Axis::edp, Axis::pp}) {
        std::vector<int64_t> seen(static_cast<size_t>(mesh.ranks()));
        const auto all = groups(*placed, {"", {axis}, mesh.of(axis)});
        EXPECT_EQ(static_cast<int64_t>(all.size()), mesh.ranks() / mesh.of(axis));
        for (const auto& group : all)
          for (const int64_t rank : group) ++seen[static_cast<size_t>(rank)];
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), mesh.ranks()) << order;
      }
    }
  }
  Mesh mesh;
  mesh.size = {2, 2, 1, 1, 4, 1, 2};
  EXPECT_EQ(tag_of(ordered(mesh, "tp-pp-cp-ep-dp")), "gen.step.order");  // experts would lie across stages
  EXPECT_EQ(tag_of(ordered(mesh, "tp-dp-pp")), "gen.step.order");
}

TEST(Placements, MoveByTheTable) {
  EXPECT_EQ(move(kPartial, kReplicated).collective, CommType::all_reduce);
  EXPECT_EQ(move(kPartial, sharded(Dim::sequence)).collective, CommType::reduce_scatter);
  EXPECT_EQ(move(sharded(Dim::sequence), kReplicated).collective, CommType::all_gather);
  EXPECT_EQ(move(sharded(Dim::sequence), sharded(Dim::heads)).collective, CommType::all_to_all);
  EXPECT_EQ(move(sharded(Dim::heads), sharded(Dim::heads)).collective, std::nullopt);
  EXPECT_EQ(move(kReplicated, sharded(Dim::heads)).collective, std::nullopt);
  EXPECT_FALSE(move(kReplicated, kPartial).possible);
  EXPECT_FALSE(move(sharded(Dim::heads), kPartial).possible);
}

}  // namespace
}  // namespace chakra::gen
