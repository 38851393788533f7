// Steps of any shape can be carried out, and their sums are those of the formulas, which stand here a second time.
#include "chakra/gen/gen.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "chakra/base/real.h"
#include "chakra/gen/testing/sums.h"

namespace chakra::gen {
namespace {

using namespace chakra::testing;
using model::Attention, model::Mlp, model::Model, model::ModelChange, model::changed, model::default_model;
using trace::CommType;

Model small_model(int64_t layers) {
  ModelChange change;
  change.layers = layers;
  change.hidden = 64;
  change.ffn = 128;
  change.heads = 8;
  change.kv_heads = 4;
  change.vocabulary = 100;
  return changed(default_model(), change).value();
}
StepOptions small(int64_t layers = 8) {
  StepOptions o;
  o.model = small_model(layers);
  o.sequence = 64;
  return o;
}

/// Four layers of GPT-3, one micro-batch.
StepOptions four_layers() {
  StepOptions o;
  o.model = known("gpt3-175b");
  o.model.layers.resize(4);
  o.ends = false;
  o.micro_batches = 1;
  return o;
}
constexpr double kSbd = 2048.0 * 12288, kScores = 5.0 * 96 * 2048 / 12288;  // elements; bytes an element

/// Count and contributed bytes of a class's communication, by group and type; messages in group "pp".
Sums sums(const Trace& t) {
  Sums result;
  for (const NodeId n : t.nodes()) {
    if (!is_comm(t.type[n])) continue;
    const trace::Comm& c = *t.comm(n);
    const std::string key = t.type[n] == NodeType::coll ? fmt::format("{} {}", t.strings[c.group], trace::name(c.type))
                            : t.type[n] == NodeType::send ? "pp SEND"
                                                          : "pp RECV";
    ++result[key].first;
    result[key].second += static_cast<double>(c.bytes);
  }
  return result;
}

double operations(const trace::ClassJob& job) {
  std::vector<double> flops;
  for (const Trace& t : job.classes) {
    flops.push_back(0);
    for (const uint64_t ops : t.num_ops) flops.back() += static_cast<double>(ops);
  }
  double sum = 0;
  for (const auto& rank : job.ranks) sum += flops[rank.cls];
  return sum;
}

TEST(Step, OfAnyShapeCanBeCarriedOut) {
  Prng random(1);
  int made = 0, refused = 0, waited = 0;
  const std::array<const char*, 6> orders{"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
  for (int i = 0; i < 300; ++i) {
    StepOptions o = small(random.between(1, 12));
    o.tp = random.between(1, 4);
    o.pp = random.between(1, 5);
    o.dp = random.between(1, 3);
    o.virtual_stages = random.between(1, 3);
    o.micro_batches = random.between(1, 12);
    o.model.blocks[0].mlp.gated = random.chance(0.5);
    o.model.tied = random.chance(0.3);
    o.zero = random.between(0, 3);
    o.sequence_parallel = random.chance(0.7);
    o.keep_gathered = random.chance(0.3);
    o.overlap = random.chance(0.7);
    o.clip = random.chance(0.5);
    if (o.virtual_stages == 1 && random.chance(0.3)) o.schedule = "gpipe";
    o.order = orders[random.below(orders.size())];
    const auto job = step(o);
    const auto layers = static_cast<int64_t>(o.model.layers.size());
    const std::string shape = fmt::format("layers {} tp {} pp {} dp {} v {} m {} zero {} {}", layers, o.tp, o.pp, o.dp,
                                          o.virtual_stages, o.micro_batches, o.zero, o.order);
    const bool dealt = layers + 2 >= o.pp * o.virtual_stages;
    const bool right = o.tp != 3 && dealt && (o.virtual_stages == 1 || (o.pp > 1 && o.micro_batches % o.pp == 0));
    ASSERT_EQ(bool(job), right) << shape << (job ? "" : job.error().message());
    if (!job) {
      ++refused;
      continue;
    }
    ++made;
    EXPECT_EQ(job->classes.size(), static_cast<size_t>(o.pp));
    const TraceSet all = trace::expand(*job);
    ASSERT_EQ(all.ranks.size(), static_cast<size_t>(o.tp * o.pp * o.dp));
    for (const Trace& t : all.ranks) {
      EXPECT_TRUE(t.defects.empty());
      for (const NodeId n : t.nodes()) {
        std::vector<NodeId> on(t.deps.of(n).begin(), t.deps.of(n).end());
        for (const NodeId node : on) EXPECT_LT(node, n) << shape;
        std::sort(on.begin(), on.end());
        EXPECT_EQ(std::adjacent_find(on.begin(), on.end()), on.end()) << shape << " " << t.name_of(n);
      }
    }
    const Outcome run(all);
    EXPECT_EQ(run.disagreement, "") << shape;
    EXPECT_EQ(run.left, 0u) << shape;
    for (size_t r = 0; r < run.finish.size(); ++r) waited += run.finish[r] > run.busy[r];
  }
  EXPECT_GT(made, 80);
  EXPECT_GT(refused, 30);
  EXPECT_GT(waited, 100);
}

/// Without embedding and head all stages take the same time, and the idle time is the formula's, to the picosecond.
TEST(Step, IdlesAsTheFormulaSays) {
  for (const int64_t pp : {1, 2, 4, 8})
    for (const int64_t v : {1, 2, 3})
      for (const int64_t rounds : {1, 2, 5}) {
        if (pp == 1 && v > 1) continue;
        StepOptions o = small(2 * pp * v);
        o.pp = pp;
        o.virtual_stages = v;
        o.micro_batches = rounds * pp;
        o.ends = false;
        const auto job = step(o);
        ASSERT_TRUE(job) << job.error().message();
        Picoseconds chunk = 0;  // a forward and a backward of one, by a step of one micro-batch on one rank
        StepOptions one = small(2);
        one.ends = false;
        one.micro_batches = 1;
        const auto alone = step(one);
        ASSERT_TRUE(alone);
        for (const NodeId n : alone->classes[0].nodes())
          if (!alone->classes[0].name_of(n).ends_with("optimizer")) chunk += alone->classes[0].dur_ps[n];
        const Outcome run(trace::expand(*job));
        ASSERT_EQ(run.left, 0u);
        for (const Picoseconds busy : run.busy) EXPECT_EQ(busy, run.busy[0]);
        const Picoseconds all = *std::max_element(run.finish.begin(), run.finish.end());
        EXPECT_EQ(all - run.busy[0], (pp - 1) * chunk) << "pp " << pp << " v " << v << " m " << o.micro_batches;
      }
}

/// One rank has all parameters that the step counts, with embedding and head and without them.
TEST(Step, CountsTheParametersOfItsParts) {
  for (const char* name : {"llama3-8b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b", "gpt3-175b"})
    for (const bool ends : {true, false}) {
      StepOptions o = small();
      o.model = known(name);
      o.micro_batches = 1;
      o.ends = ends;
      const auto job = step(o);
      ASSERT_TRUE(job) << job.error().message();
      const StepStats counted = stats(o, *job).value();
      EXPECT_EQ(static_cast<double>(counted.parameters), counted.classes[0].parameters) << name << ", ends " << ends;
      const double outer = static_cast<double>(parameters(o.model) - counted.parameters);
      EXPECT_EQ(ends, outer == 0) << name;
      EXPECT_EQ(static_cast<double>(active_parameters(o.model) - counted.active_parameters) == 0, ends) << name;
    }
}

/// First layers of forward (F) and backward (B) tasks in the order in which a stage runs them.
std::string schedule(const Trace& t) {
  std::string out;
  for (const NodeId n : t.nodes()) {
    const std::string_view name = t.name_of(n);
    const std::string layer(name.substr(0, name.find('.')));
    if (name.ends_with(".attention.norm")) out += fmt::format("F{} ", layer.substr(5));
    if (name.ends_with(".mlp.down.dgrad")) out += fmt::format("B{} ", layer.substr(5));
  }
  return out;
}

TEST(Step, SchedulesAreThePublishedOnes) {
  StepOptions o = small(2);
  o.pp = 2;
  o.micro_batches = 3;
  auto job = step(o);
  ASSERT_TRUE(job);
  EXPECT_EQ(schedule(job->classes[0]), "F0 F0 B0 F0 B0 B0 ");
  EXPECT_EQ(schedule(job->classes[1]), "F1 B1 F1 B1 F1 B1 ");
  o.schedule = "gpipe";
  job = step(o);
  ASSERT_TRUE(job);
  EXPECT_EQ(schedule(job->classes[1]), "F1 F1 F1 B1 B1 B1 ");
  o = small(4);
  o.pp = 2;
  o.virtual_stages = 2;
  o.micro_batches = 4;
  job = step(o);
  ASSERT_TRUE(job);
  EXPECT_EQ(schedule(job->classes[0]), "F0 F0 F2 F2 F0 B2 F0 B2 F2 B0 F2 B0 B2 B2 B0 B0 ");
  EXPECT_EQ(schedule(job->classes[1]), "F1 F1 F3 B3 F3 B3 F1 B1 F1 B1 F3 B3 F3 B3 B1 B1 ");
}

/// FLOPs of the GEMMs of a dense decoder's forward pass for a token of a sequence of s.
double forward_operations(const Model& m, double s) {
  double sum = 2 * real(m.hidden) * real(m.vocabulary);
  for (const uint8_t kind : m.layers) {
    const Attention& a = m.blocks[kind].attention;
    const Mlp& mlp = m.blocks[kind].mlp;
    const double d = real(m.hidden), h = real(a.head_dim);
    sum += 2 * d * real(a.heads + 2 * a.kv_heads) * h + 2 * real(a.heads) * h * d;
    sum += 4 * s * real(a.heads) * h / 2;  // half is masked
    sum += 2 * d * real(mlp.width) * (mlp.gated ? 3 : 2);
  }
  return sum;
}

TEST(Step, SumsAreThePublishedOnes) {
  for (const auto& [name, parameters, forward] :  // operations of forward with full attention
       {std::tuple("llama3-8b", 8'030'261'248, 1.930428e10),
        {"llama3-70b", 70'553'706'496, 1.604783e11},
        {"llama3-405b", 405'853'388'800, 8.751415e11},
        {"gpt3-175b", 174'604'259'328, 3.587911e11}}) {
    StepOptions o;
    o.model = known(name);
    o.micro_batches = 2;
    const double s = real(o.model.sequence), tokens = 2 * s;
    auto job = step(o);
    ASSERT_TRUE(job) << job.error().message();
    const auto stats = gen::stats(o, *job);
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->parameters, parameters);
    EXPECT_EQ(stats->classes[0].parameters, static_cast<double>(parameters));
    EXPECT_NEAR(operations(*job) / (3 * tokens * forward_operations(o.model, s)), 1, 1e-9) << name;
    o.model.causal = false;
    job = step(o);
    EXPECT_NEAR(operations(*job) / (3 * tokens * forward), 1, 1e-6) << name;
  }
}

TEST(Step, OperationsAreTheSameOnAllMeshes) {
  Prng random(2);
  for (int i = 0; i < 60; ++i) {
    StepOptions o = small(8);
    o.model.vocabulary = 128;
    o.micro_batches = 8 / random.between(1, 2);
    o.dp = 8 / o.micro_batches;
    const double all = operations(*step([&] {
      StepOptions one = o;
      one.micro_batches = 8;
      one.dp = 1;
      return one;
    }()));
    o.tp = int64_t{1} << random.below(3);
    o.pp = int64_t{1} << random.below(3);
    o.virtual_stages = o.pp > 1 && o.micro_batches % o.pp == 0 ? random.between(1, 2) : 1;
    o.sequence_parallel = random.chance(0.5);
    const auto job = step(o);
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_DOUBLE_EQ(operations(*job), all);
    EXPECT_TRUE(stats(o, *job)->surplus.empty());
  }
  // 4 heads of keys on 8 ranks are twice as many; 100 words on 8 ranks are 104.
  StepOptions o = small(1);
  const double once = operations(*step(o));
  o.tp = 8;
  const auto job = step(o);
  const auto stats = gen::stats(o, *job);
  double surplus = 0;
  std::string names;
  for (const Surplus& row : stats->surplus) {
    surplus += row.operations;
    names += row.name + " ";
  }
  EXPECT_EQ(names, "attention.k attention.v head ");
  EXPECT_DOUBLE_EQ(stats->operations - once, surplus);
  EXPECT_DOUBLE_EQ(surplus, 3 * 2 * 8 * 64 * 64 * (2.0 * 4 * 8 + 4));  // 3 passes, 2 a product, 8 micro-batches of 64
}

TEST(Step, TensorParallelCommunicationIsTheFormulas) {
  StepOptions o = small(6);
  o.tp = 4;
  o.micro_batches = 5;
  o.micro_batch_size = 3;
  const int64_t m = 5, layers = 6;
  const double n = 3 * 64 * 64 * 2, numbers = 3 * 64 * 4;
  const double norms = (2 * 6 + 1) * 64 * 4;  // their weights' gradients, once a step
  Sums s = sums(step(o)->classes[0]);
  EXPECT_EQ(s["tp ALL_GATHER"], std::pair(m * (6 * layers + 3), real(m * (6 * layers + 3)) * n / 4));
  EXPECT_EQ(s["tp REDUCE_SCATTER"], std::pair(m * (4 * layers + 2), real(m * (4 * layers + 2)) * n));
  EXPECT_EQ(s["tp ALL_REDUCE"], std::pair(m * 3 + 1, real(m) * 3 * numbers + norms));
  EXPECT_EQ(s.size(), 3U);
  o.keep_gathered = true;
  s = sums(step(o)->classes[0]);
  EXPECT_EQ(s["tp ALL_GATHER"], std::pair(m * (4 * layers + 2), real(m * (4 * layers + 2)) * n / 4));
  EXPECT_EQ(s["tp REDUCE_SCATTER"], std::pair(m * (4 * layers + 2), real(m * (4 * layers + 2)) * n));
  o.sequence_parallel = false;
  s = sums(step(o)->classes[0]);
  EXPECT_EQ(s["tp ALL_REDUCE"],
            std::pair(m * (4 * layers + 2 + 3), real(m * (4 * layers + 2)) * n + real(m) * 3 * numbers));
  EXPECT_EQ(s.size(), 1U);
}

TEST(Step, PublishedPayloadOfALayer) {  // GPT-3, tp 8: generation.md 4
  StepOptions o;
  o.model = known("gpt3-175b");
  o.model.layers.resize(2);
  o.ends = false;
  o.tp = 8;
  o.micro_batches = 1;
  o.sequence_parallel = false;
  auto job = step(o);
  EXPECT_EQ(sums(job->classes[0])["tp ALL_REDUCE"], std::pair(int64_t{8}, 2 * 201'326'592.0));
  auto stats = gen::stats(o, *job);
  EXPECT_EQ(stats->classes[0].communication[0].wire_bytes, 2 * 352'321'536.0);
  o.sequence_parallel = o.keep_gathered = true;
  job = step(o);
  stats = gen::stats(o, *job);
  double wire = 0, buffers = 0;
  for (const Communication& c : stats->classes[0].communication)
    if (c.type != "ALL_REDUCE") wire += c.wire_bytes, buffers += c.bytes;
  EXPECT_EQ(wire, 2 * 352'321'536.0);
  EXPECT_EQ(buffers, 2 * 8 * 50'331'648.0);
}

TEST(Step, DataParallelCommunicationIsTheFormulas) {
  const int64_t m = 3, units = 4 + 2;
  const double parameters = real(model::parameters(small_model(4)));
  for (const int64_t dp : {2, 8}) {
    StepOptions o = small(4);
    o.dp = dp;
    o.micro_batches = m;
    // The elements of each part divide by dp.
    o.zero = 0;
    Sums s = sums(step(o)->classes[0]);
    EXPECT_EQ(s["dp ALL_REDUCE"], std::pair(units, parameters * 4));
    EXPECT_EQ(s.size(), 1U);
    o.zero = 1;
    s = sums(step(o)->classes[0]);
    EXPECT_EQ(s["dp REDUCE_SCATTER"], std::pair(units, parameters * 4));
    EXPECT_EQ(s["dp ALL_GATHER"], std::pair(units, parameters * 2 / real(dp)));
    EXPECT_EQ(s.size(), 2U);
    o.zero = 2;
    s = sums(step(o)->classes[0]);
    EXPECT_EQ(s["dp REDUCE_SCATTER"], std::pair(units * m, parameters * 4 * real(m)));
    EXPECT_EQ(s["dp ALL_GATHER"], std::pair(units, parameters * 2 / real(dp)));
    o.zero = 3;
    s = sums(step(o)->classes[0]);
    EXPECT_EQ(s["dp REDUCE_SCATTER"], std::pair(units * m, parameters * 4 * real(m)));
    EXPECT_EQ(s["dp ALL_GATHER"], std::pair(units * m * 2, parameters * 2 / real(dp) * 2 * real(m)));
    EXPECT_EQ(s.size(), 2U);
  }
}

TEST(Step, MessagesAndTiedEmbeddings) {
  StepOptions o = small(8);
  o.model.tied = true;
  o.tp = 2;
  o.dp = 2;
  o.pp = 4;
  o.micro_batches = 6;
  for (const bool sequence_parallel : {true, false}) {
    o.sequence_parallel = sequence_parallel;
    const auto job = step(o);
    ASSERT_TRUE(job);
    const double bytes = 64 * 64 * 2 / (sequence_parallel ? 2 : 1);
    for (size_t stage = 0; stage < 4; ++stage) {
      Sums s = sums(job->classes[stage]);
      const int64_t each = stage == 0 || stage == 3 ? 6 : 12;
      EXPECT_EQ(s["pp SEND"], std::pair(each, real(each) * bytes));
      EXPECT_EQ(s["pp RECV"], std::pair(each, real(each) * bytes));
      EXPECT_EQ(s.contains("tied ALL_REDUCE"), stage == 0 || stage == 3);
      // Of 100 words a rank has 50, of their gradients half.
      if (stage == 0) EXPECT_EQ(s["tied ALL_REDUCE"], std::pair(int64_t{1}, 50.0 * 64 / 2 * 4));
    }
    int64_t pairs = 0;
    for (const trace::ProcessGroup& group : job->groups) {
      if (!group.name.starts_with("tied")) continue;
      ++pairs;
      EXPECT_EQ(group.ranks, (std::vector<int64_t>{group.ranks[0], group.ranks[0] + 12}));
    }
    EXPECT_EQ(pairs, 4);
  }
}

TEST(Step, MemoryIsTheFormulas) {
  // Korthikanti et al. 2022: activations of a layer of GPT, with masks, in bytes.
  StepOptions o = four_layers();
  for (const int64_t tp : {1, 8}) {
    o.tp = tp;
    o.fused_attention = true;
    const auto peak = [&] { return stats(o, *step(o))->classes[0].memory.activations_peak; };
    EXPECT_DOUBLE_EQ(peak(), 4 * kSbd * 34 / real(tp));
    o.fused_attention = false;
    EXPECT_DOUBLE_EQ(peak(), 4 * kSbd * (34 + kScores) / real(tp));
  }
  o.fused_attention = o.keep_gathered = true;
  EXPECT_DOUBLE_EQ(stats(o, *step(o))->classes[0].memory.activations_peak,
                   4 * kSbd * (34 / 8.0 + 2 * 2 * 7 / 8.0));  // two tensors of 2 bytes an element, whole
  o.keep_gathered = false;
  // In flight: 1F1B p - i, GPipe all, interleaved p + (p - 1) / v, of the stage's share of the layers.
  o.model.layers.resize(16, 0);
  o.pp = 4;
  o.micro_batches = 8;
  const auto peaks = [&] {
    std::vector<double> result;
    const StepStats all = stats(o, *step(o)).value();
    for (const ClassStats& c : all.classes) result.push_back(c.memory.activations_peak / (kSbd * 34 / 8 * 4));
    return result;
  };
  EXPECT_EQ(peaks(), (std::vector<double>{4, 3, 2, 1}));
  o.schedule = "gpipe";
  EXPECT_EQ(peaks(), (std::vector<double>{8, 8, 8, 8}));
  o.schedule = "";
  o.virtual_stages = 2;
  EXPECT_DOUBLE_EQ(peaks()[0], 4 + 3 / 2.0);
}

TEST(Step, MemoryHoldsWhatIsAtWork) {
  StepOptions o = four_layers();
  o.zero = 0;
  const auto memory = [&] { return stats(o, *step(o))->classes[0].memory; };
  EXPECT_EQ(memory().working, 0);
  o.recompute = Recompute::full;  // a layer's activations, less its input, which is kept
  EXPECT_DOUBLE_EQ(memory().activations_peak, 4 * 2 * kSbd);
  EXPECT_DOUBLE_EQ(memory().working, 32 * kSbd);
  o.schedule = "zb-h1";  // the weights' gradients of all layers come after the inputs'
  EXPECT_DOUBLE_EQ(memory().working, 4 * 32 * kSbd);
  o.schedule = "";
  o.recompute = Recompute::selective;
  o.fused_attention = false;
  EXPECT_DOUBLE_EQ(memory().activations_peak, 4 * 34 * kSbd);
  EXPECT_DOUBLE_EQ(memory().working, kScores * kSbd);
  o.recompute = Recompute::none;
  o.dp = 4;
  const double layer = memory().parameters / 4 / 2;
  // Most is needed when backward has come to its second layer and the first one's activations are gone: the rest of a
  // layer's parameters and of the next one's, of its gradients and of those before, which are being reduced.
  const double gone = (34 + kScores) * kSbd;
  o.zero = 3;
  EXPECT_DOUBLE_EQ(memory().working, layer * 3 / 4 * (2 * 2 + 2 * 4) - gone);
  o.zero = 2;
  EXPECT_DOUBLE_EQ(memory().working, layer * 3 / 4 * (2 * 4) - gone);
  o.zero = 1;
  EXPECT_EQ(memory().working, 0);
}

TEST(Step, ZeroSharesOutMemory) {  // Rajbhandari et al. 2020, figure 1, with gradients of 2 bytes
  StepOptions o = small(4);
  o.dp = 64;
  o.gradient_bytes = 2;
  const double psi = real(model::parameters(o.model));
  const auto sum = [&](int64_t zero) {
    o.zero = zero;
    const Memory m = stats(o, *step(o))->classes[0].memory;
    return m.parameters + m.gradients + m.optimizer;
  };
  EXPECT_DOUBLE_EQ(sum(0), 16 * psi);
  EXPECT_DOUBLE_EQ(sum(1), 4 * psi + 12 * psi / 64);
  EXPECT_DOUBLE_EQ(sum(2), 2 * psi + 14 * psi / 64);
  EXPECT_DOUBLE_EQ(sum(3), 16 * psi / 64);
}

StepOptions preset(std::string_view name) {
  return std::find_if(kPresets.begin(), kPresets.end(), [&](const PresetRow& row) { return row.name == name; })
      ->options();
}

TEST(Step, OfTheLargestPresetHasWhatItShould) {
  StepOptions o = preset("llama3-405b");
  o.dp = 1024;
  const auto job = step(o);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->ranks.size(), 131'072u);
  EXPECT_EQ(job->classes.size(), 16u);
  EXPECT_EQ(job->groups.size(), 16'384u + 128);
  int64_t tensor_collectives = 0, layers_forward = 0;
  for (const Trace& t : job->classes) {
    EXPECT_GE(t.size(), 10'000u);
    for (const NodeId n : t.nodes()) {
      const std::string_view name = t.name_of(n);
      tensor_collectives +=
          name.starts_with("layer") && t.type[n] == NodeType::coll && t.strings[t.comm(n)->group] == "tp";
      layers_forward += name.ends_with(".attention.norm");
    }
  }
  EXPECT_EQ(layers_forward, 126 * 32);
  EXPECT_EQ(tensor_collectives, 10 * layers_forward);  // four forward; four backward, and two gathered again
}

TEST(Step, RanksStandInTheOrderAskedFor) {
  StepOptions o = small();
  o.tp = 2;
  o.pp = 2;
  o.dp = 4;
  for (const auto& [order, tp, dp, pp] : {std::tuple("tp-dp-pp", 1, 2, 8), std::tuple("tp-cp-ep-dp-pp", 1, 2, 8),
                                          std::tuple("tp-pp-dp", 1, 4, 2), std::tuple("pp-dp-tp", 8, 2, 1)}) {
    o.order = order;
    const auto job = step(o);
    ASSERT_TRUE(job) << job.error().message();
    const Trace first = trace::concrete(*job, 0);
    ASSERT_EQ(first.groups.size(), 2u);
    EXPECT_EQ(first.groups[0].ranks, (std::vector<int64_t>{0, tp})) << order;
    EXPECT_EQ(first.groups[1].ranks, (std::vector<int64_t>{0, dp, 2 * dp, 3 * dp})) << order;
    EXPECT_EQ(job->peer_of[job->ranks[0].first_peer], pp) << order;
    EXPECT_EQ(job->ranks[static_cast<size_t>(pp)].cls, 1u) << order;
  }
}

TEST(Step, RefusesWhatCannotBe) {
  const auto tag = [](const auto& change) {
    StepOptions o = small();
    change(o);
    return tag_of(step(o));
  };
  EXPECT_EQ(tag([](StepOptions& o) { o.model.layers.clear(); }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.tp = -1; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.dp = INT64_MAX; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.efficiency = 0; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.peak_flop_per_s = NAN; }), "gen.step.range");
  EXPECT_EQ(tag([](StepOptions& o) { o.tp = 3; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.ep = 2; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.virtual_stages = 2; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.virtual_stages = 2, o.pp = 4, o.micro_batches = 6; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.schedule = "fastest"; }), "gen.step.schedule");
  EXPECT_EQ(tag([](StepOptions& o) { o.model = small_model(2), o.pp = 5; }), "gen.step.layers");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = "tp-dp"; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = "tp-dp-pp-"; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = "tp-tp-pp"; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.order = ""; }), "gen.step.order");
  EXPECT_EQ(tag([](StepOptions& o) { o.dp = 1 << 20, o.tp = 8; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.micro_batches = 1 << 20; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.sequence = 1 << 28, o.micro_batch_size = 1 << 20; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.peak_flop_per_s = 1e-3; }), "gen.step.large");
  EXPECT_EQ(tag([](StepOptions& o) { o.etp = 2, o.tp = 2; }), "gen.step.divide");
  EXPECT_EQ(tag([](StepOptions& o) { o.model = known("gpt3-175b"), o.sequence = 8192; }), "gen.step.range");
}

}  // namespace
}  // namespace chakra::gen
