// What depends on a framework: recomputation by operator, optimizers, element types, and what lies in memory.
#include <gtest/gtest.h>

#include "chakra/base/real.h"
#include "chakra/gen/gen.h"
#include "chakra/trace/metadata.h"

namespace chakra::gen {
namespace {

using model::Family, model::ModelChange, model::ModelRow, model::changed, model::default_model, model::models;
using trace::NodeId;
using trace::Trace;

constexpr double kHidden = 64, kInner = 192, kHeads = 4, kKvHeads = 2, kHeadDim = 16, kWords = 320, kTokens = 32;
constexpr int64_t kLayers = 3, kBatches = 2;
constexpr double kKeys = kKvHeads * kHeadDim;

StepOptions options() {
  ModelChange change;
  change.layers = kLayers, change.hidden = 64, change.ffn = 192, change.heads = 4, change.kv_heads = 2;
  change.head_dim = 16, change.vocabulary = 320;
  StepOptions o;
  o.model = changed(default_model(), change).value();
  o.sequence = 32;
  o.micro_batches = kBatches;
  return o;
}

Memory memory_of(const StepOptions& o) { return stats(o, *step(o))->classes[0].memory; }

struct Sums {
  double operations = 0, bytes = 0;
  int64_t nodes = 0;
};
template <class Is>
Sums sums(const StepOptions& o, const Is& is) {
  const trace::ClassJob job = step(o).value();
  const Trace& t = job.classes[0];
  Sums all;
  for (const NodeId n : t.nodes()) {
    if (!is(t.name_of(n))) continue;
    ++all.nodes;
    if (n < t.num_ops.size()) all.operations += static_cast<double>(t.num_ops[n]);
    if (n < t.tensor_bytes.size()) all.bytes += static_cast<double>(t.tensor_bytes[n]);
  }
  return all;
}
constexpr auto kAgain = [](std::string_view name) { return name.ends_with(".again"); };
constexpr auto kUpdate = [](std::string_view name) { return name.ends_with(".optimizer"); };

TEST(PerOperator, EverySecondProductIsComputedAgain) {
  StepOptions o = options();
  o.recompute = Recompute::per_operator;
  // q and k and v, out, gate and up, down: the second, fourth and sixth.
  const double again = 2 * kTokens * (kHidden * kKeys + kHeads * kHeadDim * kHidden + kHidden * kInner);
  EXPECT_DOUBLE_EQ(sums(o, kAgain).operations, real(kLayers * kBatches) * again);
  const double kept = kHidden + kHeads * kHeadDim + kKeys + kHeads * kHeadDim + kInner + kHidden;
  const double head = 2 * kTokens * kHidden + 2 * kTokens * kHidden + 2 * kTokens * kWords + 3 * 4 * kTokens;
  EXPECT_DOUBLE_EQ(memory_of(o).activations_peak, real(kLayers) * 2 * kTokens * kept + head);
}

TEST(PerOperator, SumsOverRanksAreKept) {
  StepOptions o = options();
  o.tp = 2;
  o.recompute = Recompute::per_operator;
  const auto reduces = [](std::string_view name) { return kAgain(name) && contains(name, "reduce_scatter"); };
  EXPECT_EQ(sums(o, reduces).nodes, 0);
  o.recompute = Recompute::full;
  EXPECT_GT(sums(o, reduces).nodes, 0);
}

TEST(PerOperator, TakesBetweenNoneAndFull) {
  for (const ModelRow& row : models()) {
    if (row.model.family == Family::recommender || row.model.layers.size() > 100) continue;
    SCOPED_TRACE(row.name);
    StepOptions o;
    o.model = row.model;
    o.model.layers.resize(std::min<size_t>(o.model.layers.size(), 4));
    o.micro_batches = 1;
    const auto all = [&](Recompute recompute) {
      o.recompute = recompute;
      return std::pair(sums(o, [](std::string_view) { return true; }).operations, memory_of(o).activations_peak);
    };
    const auto none = all(Recompute::none), some = all(Recompute::per_operator), full = all(Recompute::full);
    EXPECT_LE(none.first, some.first);
    EXPECT_LE(some.first, full.first);
    EXPECT_LE(full.second, some.second);
  }
}

TEST(Optimizers, KeepWhatTheyAre) {
  StepOptions o = options();
  const double elements = memory_of(o).parameters / 2;
  const double per_element[] = {12, 8, 4 + 2 + 8.0 / 256, 4, 8};
  for (size_t i = 0; i < std::size(per_element); ++i) {
    SCOPED_TRACE(kOptimizers[i].name);
    o.optimizer = i;
    EXPECT_DOUBLE_EQ(memory_of(o).optimizer, per_element[i] * elements);
    // The gradient is read, parameter and moments are read and written, the copy in 16 bits is written.
    EXPECT_NEAR(sums(o, kUpdate).bytes, (4 + 2 * per_element[i] + 2) * elements, 16);
  }
  o.optimizer = 0, o.bytes_per_element = 4;  // no copy
  EXPECT_DOUBLE_EQ(memory_of(o).optimizer, 8 * elements);
  EXPECT_NEAR(sums(o, kUpdate).bytes, 28 * elements, 16);
}

TEST(Optimizers, MuonMakesTheMatricesOfLayersOrthogonal) {
  StepOptions o = options();
  const double elements = memory_of(o).parameters / 2;
  o.optimizer = 5;
  const auto newton = [](double a, double b) {
    const double m = std::min(a, b), n = std::max(a, b);
    return 5 * (2 * m * m * n + 2 * m * m * m + 2 * m * m * n);
  };
  const double queries = kHeads * kHeadDim;
  const double matrices = kHidden * (2 * queries + 2 * kKeys + 3 * kInner);
  const double operations =
      newton(kHidden, queries) + 2 * newton(kHidden, kKeys) + newton(queries, kHidden) + 3 * newton(kHidden, kInner);
  EXPECT_NEAR(sums(o, kUpdate).operations, real(kLayers) * operations, 16);
  EXPECT_NEAR(memory_of(o).optimizer, 12 * elements - 4 * real(kLayers) * matrices, 1);
}

TEST(Frameworks, EagerCodeKeepsMore) {
  StepOptions o = options();
  const double fused = memory_of(o).activations_peak;
  o.framework.eager = true;
  // A norm keeps its input in 32 bits and what it scales; the activation its first result. One norm is the head's.
  const double more = real(kLayers) * (2 * 4 * kHidden + 2 * kInner) + 4 * kHidden;
  EXPECT_DOUBLE_EQ(memory_of(o).activations_peak, fused + kTokens * more);
  o.fused_attention = false;  // scores, their softmax in 32 bits, its cast
  EXPECT_DOUBLE_EQ(memory_of(o).activations_peak,
                   fused + kTokens * more + real(kLayers) * 8 * kHeads * kTokens * kTokens);
}

TEST(Frameworks, ALossHoldsCopiesOfTheLogits) {
  StepOptions o = options();
  o.framework.logit_bytes = 14;
  EXPECT_DOUBLE_EQ(memory_of(o).working, 12 * kTokens * kWords);
  o.tp = 2, o.framework.fsdp = true;
  EXPECT_DOUBLE_EQ(memory_of(o).working, 14 * kTokens * kWords / 2);
}

TEST(Frameworks, FsdpHasParametersOnceAndGathersOnceInPipelines) {
  StepOptions o = options();
  o.dp = 4, o.zero = 3;
  EXPECT_GT(memory_of(o).parameters, 0);
  o.framework.fsdp = true;
  EXPECT_EQ(memory_of(o).parameters, 0);
  o.pp = 3;
  EXPECT_EQ(settled(o).zero, 1);
  EXPECT_GT(memory_of(o).parameters, 0);
  const auto gathers = [](std::string_view name) { return name.ends_with(".parameters.all_gather"); };
  const int64_t once = sums(o, gathers).nodes;
  o.framework.fsdp = false;
  EXPECT_GT(sums(o, gathers).nodes, once);
}

/// FLOPs of all ranks that the metadata state.
double model_operations(const trace::ClassJob& job) {
  const auto stated = trace::metadata_number(job.classes[0], "model_operations_per_rank");
  return real(stated.value_or(-1)) * real(job.ranks.size());
}

// On one rank that recomputes nothing, these are the nodes without the optimizer. They stay what they are, whatever
// ranks repeat, recompute and update.
TEST(ModelWork, IsForwardAndBackwardOnce) {
  int muon = 0;
  for (size_t i = 0; i < kOptimizers.size(); ++i) muon = kOptimizers[i].orthogonal ? static_cast<int>(i) : muon;
  for (const ModelRow& row : models()) {
    SCOPED_TRACE(row.name);
    StepOptions o;
    o.model = row.model;
    o.model.layers.resize(std::min<size_t>(o.model.layers.size(), 4));
    o.micro_batches = 2;
    for (const int64_t lora : {0, 16}) {
      o.lora_rank = lora;
      if (lora > 0 && !step(o)) continue;  // a model without adapters
      const auto once = step(o);
      ASSERT_TRUE(once) << once.error().message();
      const double all = sums(o, [](std::string_view name) { return !kUpdate(name); }).operations;
      EXPECT_NEAR(model_operations(*once) / all, 1, 1e-9);
      StepOptions other = o;
      other.optimizer = static_cast<size_t>(muon);
      other.recompute = row.model.family == Family::recommender ? Recompute::none : Recompute::full;
      other.dp = 2;
      EXPECT_NEAR(model_operations(step(other).value()) / all, 2, 2e-9);
      other.tp = 4;
      const auto job = step(other);
      if (job) {
        EXPECT_NEAR(model_operations(*job) / all, 2, 2e-9);
      }
    }
  }
}

/// Bytes that a rank sends in the all-to-alls of experts, for a token, layer and pass.
double dispatched(int64_t ep, int64_t ranks_of_node) {
  StepOptions o;
  o.model = model::find_model("mixtral-8x7b")->model;  // two of eight experts
  o.model.layers.resize(1);
  o.sequence = 1024, o.micro_batches = 1, o.dp = 8, o.ep = ep;
  o.framework.dispatch_ranks = ranks_of_node;
  const trace::ClassJob job = step(o).value();
  double bytes = 0;
  for (const trace::Comm& comm : job.classes[0].comms)
    if (comm.type == trace::CommType::all_to_all) bytes += static_cast<double>(comm.bytes);
  return bytes / (4 * 1024 * 2 * static_cast<double>(o.model.hidden));
}

TEST(Dispatch, SendsATokenOnceToEachNode) {
  EXPECT_DOUBLE_EQ(dispatched(8, 0), 2);
  EXPECT_DOUBLE_EQ(dispatched(8, 8), 2);                     // a node, in which two experts are two ranks
  EXPECT_NEAR(dispatched(8, 4), 2 * (1 - 3.0 / 14), 1e-3);   // both experts are of one half in 3 of 7 cases
  EXPECT_NEAR(dispatched(4, 8), 4 * (1 - 15.0 / 28), 1e-3);  // of a rank's two experts none: C(6,2) of C(8,2)
  EXPECT_NEAR(dispatched(8, 1), dispatched(8, 8), 1e-9);
  StepOptions o;
  o.framework.dispatch_ranks = -1;
  EXPECT_EQ(step(o).error().tag, "gen.step.range");
}

TEST(Types, OfNodesAreThoseOfTheStep) {
  StepOptions o = options();
  const auto type = [&] { return step(o)->classes[0].dtype_of(NodeId(0)); };
  EXPECT_EQ(type(), trace::DType::bf16);
  o.fp16 = true;
  EXPECT_EQ(type(), trace::DType::f16);
  o.bytes_per_element = 4;
  EXPECT_EQ(step(o).error().tag, "gen.step.range");
  o.fp16 = false;
  EXPECT_EQ(type(), trace::DType::f32);
}

}  // namespace
}  // namespace chakra::gen
