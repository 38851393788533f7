// GEMMs with 8-bit inputs: bytes, FLOPs, communication and memory by formulas written out here.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "chakra/base/real.h"
#include "chakra/gen/testing/sums.h"

namespace chakra::gen {
namespace {

using namespace chakra::testing;
using model::Attention, model::Experts, model::ModelChange, model::changed, model::default_model;
using trace::NodeId;
using trace::Trace;

constexpr double kWidth = 64, kInner = 128, kQueries = 64, kKeys = 32, kWords = 96, kTokens = 32, kLayers = 2;
constexpr int64_t kBatches = 3;

StepOptions options() {
  ModelChange change;
  change.layers = 2;
  change.hidden = 64;
  change.ffn = 128;
  change.heads = 8;
  change.kv_heads = 4;
  change.vocabulary = 96;
  StepOptions o;
  o.model = changed(default_model(), change).value();
  o.sequence = 32;
  o.micro_batches = kBatches;
  o.fp8 = true;
  return o;
}
StepOptions plain(StepOptions o) {
  o.fp8 = false;
  return o;
}

struct Work {
  int64_t nodes = 0;
  double ops = 0, bytes = 0;
};
template <class Chosen>
Work work_of(const StepOptions& o, const Chosen& chosen, size_t cls = 0) {
  const trace::ClassJob job = step(o).value();
  const Trace& t = job.classes[cls];
  Work sum;
  for (const NodeId n : ids<NodeId>(t.num_ops.size()))
    if (t.type[n] == trace::NodeType::comp && chosen(t, n)) {
      ++sum.nodes;
      sum.ops += real(static_cast<int64_t>(t.num_ops[n]));
      sum.bytes += real(static_cast<int64_t>(t.tensor_bytes[n]));
    }
  return sum;
}
bool is_fp8(const Trace& t, NodeId n) { return t.dtype_of(n) == trace::DType::f8; }
bool is_cast(const Trace& t, NodeId n) { return t.name_of(n).find(".cast") != std::string_view::npos; }

/// Bytes of a GEMM with `rows` vectors: forward, gradients of input and matrix. Inputs have 8 bits, outputs 16.
double product_bytes(double rows, double in, double out) {
  return (rows * in + in * out + 2 * rows * out) + (rows * out + in * out + 2 * rows * in) +
         (rows * in + rows * out + 2 * in * out);
}
/// Of the matrices of a layer.
double layer_bytes(double rows, double tp = 1) {
  return product_bytes(rows, kWidth, kQueries / tp) + 2 * product_bytes(rows, kWidth, kKeys / tp) +
         product_bytes(rows, kQueries / tp, kWidth) + 2 * product_bytes(rows, kWidth, kInner / tp) +
         product_bytes(rows, kInner / tp, kWidth);
}
constexpr double kMatrices = 2 * kWidth * kQueries + 2 * kWidth * kKeys + 3 * kWidth * kInner;

TEST(Fp8, OperationsAndBytesAreTheFormulas) {
  const StepOptions o = options();
  const Work products = work_of(o, is_fp8), casts = work_of(o, is_cast);
  EXPECT_EQ(products.nodes, kBatches * 2 * 7 * 3);
  EXPECT_DOUBLE_EQ(products.ops, kBatches * kLayers * 3 * 2 * kTokens * kMatrices);
  EXPECT_DOUBLE_EQ(products.bytes, kBatches * kLayers * layer_bytes(kTokens));
  // Inputs of queries, keys and values, of the output, of the MLP's first matrices, of its last; gradients of each
  // product's output; read in 16 bits, two copies in 8. Matrices once.
  const double in = kWidth + kQueries + kWidth + kInner;
  const double out = kQueries + 2 * kKeys + kWidth + 2 * kInner + kWidth;
  EXPECT_EQ(casts.nodes, kBatches * 2 * (4 + 7) + 2);
  EXPECT_DOUBLE_EQ(casts.bytes, kLayers * (kBatches * 4 * kTokens * (in + out) + 4 * kMatrices));
  EXPECT_EQ(casts.ops, 0);
  const StepStats all = stats_of(o);
  EXPECT_DOUBLE_EQ(all.operations, operations(plain(o)));
  EXPECT_DOUBLE_EQ(all.fp8_operations, products.ops);
  EXPECT_DOUBLE_EQ(all.operations - all.fp8_operations,  // attention, whose tokens meet half of them, and the head
                   kBatches * 3 * kTokens * (kLayers * 2 * kTokens * kQueries + 2 * kWidth * kWords));
}

TEST(Fp8, LeavesEverythingElseAsItIs) {
  const auto others = [](const Trace& t, NodeId n) {
    const std::string_view name = t.name_of(n);
    const std::string_view products[]{"attention.q", "attention.k", "attention.v", "attention.out",
                                      "mlp.gate",    "mlp.up",      "mlp.down"};
    for (const std::string_view product : products)
      for (const std::string_view end : {"", ".dgrad", ".wgrad"})
        if (name.ends_with("." + std::string(product) + std::string(end))) return false;
    return !is_cast(t, n);
  };
  const Work with = work_of(options(), others), without = work_of(plain(options()), others);
  EXPECT_EQ(with.nodes, without.nodes);
  EXPECT_EQ(with.bytes, without.bytes);
  EXPECT_EQ(with.ops, without.ops);
}

TEST(Fp8, GathersCarryEightBitsAndSumsSixteen) {
  StepOptions o = options();
  o.tp = 2;
  o.dp = 2;
  Sums with = sums(o), without = sums(plain(o));
  const double layers = real(kBatches) * kLayers, n = kTokens * kWidth;
  // Inputs forward and again, gradients of what was summed: 6 a layer, and 3 of embedding and head in 16 bits.
  EXPECT_EQ(with["tp ALL_GATHER"], std::pair(kBatches * (2 * 6 + 3), layers * 6 * n + real(kBatches) * 3 * 2 * n));
  EXPECT_EQ(without["tp ALL_GATHER"].second, layers * 6 * 2 * n + real(kBatches) * 3 * 2 * n);
  for (const char* same : {"tp REDUCE_SCATTER", "tp ALL_REDUCE", "dp REDUCE_SCATTER", "dp ALL_GATHER"})
    EXPECT_EQ(with[same], without[same]) << same;
  const Work products = work_of(o, is_fp8);
  EXPECT_DOUBLE_EQ(products.bytes, layers * layer_bytes(kTokens, 2));
  // Before they are gathered: inputs of columns, gradients of rows' sums.
  const double in = kWidth / 2 + kQueries / 2 + kWidth / 2 + kInner / 2;
  const double out = kQueries / 2 + kKeys + kWidth / 2 + kInner + kWidth / 2;
  EXPECT_DOUBLE_EQ(work_of(o, is_cast).bytes, layers * 4 * kTokens * (in + out) + 4 * kLayers * kMatrices / 2);
  o.sequence_parallel = false;  // nothing is gathered
  EXPECT_EQ(sums(o), sums(plain(o)));
}

TEST(Fp8, MemoryIsTheFormulas) {
  StepOptions o = options();
  o.ends = false;
  const Memory m = stats_of(o).classes[0].memory;
  const double parameters = real(kLayers) * (kMatrices + 2 * kWidth);
  EXPECT_DOUBLE_EQ(m.parameters, 2 * parameters + 2 * kLayers * kMatrices);
  EXPECT_DOUBLE_EQ(m.optimizer, 12 * parameters);
  // 16 bits: inputs of both norms, queries, keys, values, attention's result, what the activation takes.
  const double kept =
      kTokens * (2 * (2 * kWidth + 2 * kQueries + 2 * kKeys + 2 * kInner) + (kWidth + kQueries + kWidth + kInner));
  EXPECT_DOUBLE_EQ(m.activations_peak, kLayers * kept);
  EXPECT_DOUBLE_EQ(m.working, 0);

  o.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(stats_of(o).classes[0].memory.activations_peak, kLayers * kTokens * 2 * kWidth);
  EXPECT_DOUBLE_EQ(stats_of(o).classes[0].memory.working, kept - kTokens * 2 * kWidth);
}

TEST(Fp8, GatheredMatricesAreCastEachTime) {
  StepOptions o = options();
  o.ends = false;
  o.zero = 3;
  const auto weights = [](const Trace& t, NodeId n) { return t.name_of(n).ends_with(".weights.cast"); };
  EXPECT_EQ(work_of(o, weights).nodes, 2);  // one rank has all of them
  o.dp = 4;
  const Work casts = work_of(o, weights);
  EXPECT_EQ(casts.nodes, kBatches * 2 * 2);
  EXPECT_DOUBLE_EQ(casts.bytes, real(kBatches) * 2 * kLayers * 3 * kMatrices);
  const Memory with = stats_of(o).classes[0].memory, without = stats_of(plain(o)).classes[0].memory;
  EXPECT_EQ(with.parameters, without.parameters);
  // The peak is in backward of the first layer: its matrices have a copy, what it has kept is smaller.
  const double smaller = kTokens * (kWidth + kWidth + kInner - kQueries);
  EXPECT_DOUBLE_EQ(with.tensors() - without.tensors(), kMatrices - smaller);
  for (const char* same : {"dp ALL_GATHER", "dp REDUCE_SCATTER"}) EXPECT_EQ(sums(o)[same], sums(plain(o))[same]);
}

TEST(Fp8, ExpertsAreCastWhereTheyArrive) {
  StepOptions o = options();
  Experts experts;
  experts.count = 8;
  experts.active = 2;
  experts.width = 128;
  experts.shared_width = 64;
  o.model.blocks[0].experts = experts;
  o.dp = 4;
  o.ep = 4;
  EXPECT_EQ(sums(o), sums(plain(o)));  // tokens travel in 16 bits
  const double routed = 2 * kTokens, layers = real(kBatches) * kLayers;
  const double attention = 2 * kWidth * kQueries + 2 * kWidth * kKeys;
  EXPECT_DOUBLE_EQ(stats_of(o).classes[0].fp8_operations,  // the router, in 16 bits, is not among them
                   layers * 3 * 2 * (kTokens * (attention + 3 * kWidth * 64) + routed * 3 * kWidth * kInner));
  const auto casts = [](const Trace& t, NodeId n) {
    return t.name_of(n).find("dispatch") != std::string_view::npos && is_cast(t, n);
  };
  EXPECT_DOUBLE_EQ(work_of(o, casts).bytes, layers * 4 * routed * kWidth);
}

TEST(Fp8, RotaryNumbersOfLatentsStaySixteen) {
  StepOptions o = options();
  Attention& a = o.model.blocks[0].attention;
  a.kv_heads = 8;
  a.q_rank = 32;
  a.kv_rank = 16;
  a.rope_dim = 4;
  o.tp = 2;
  o.micro_batches = 1;
  o.model.layers.resize(1);
  // Forward and again: the latents of queries and of keys and values, the MLP's input; gradients of two sums.
  const double gathered = 2 * kTokens * (32 + (16 + 2 * 4) + kWidth) + 2 * kTokens * kWidth;
  EXPECT_EQ(sums(o)["tp ALL_GATHER"], std::pair(int64_t{8 + 3}, gathered + 3 * kTokens * kWidth * 2));
}

TEST(Fp8, ProductsTakeTheTimeOfTheirPeak) {
  StepOptions o = options();
  o.memory_bytes_per_s = 1e24;
  o.efficiency = 1;
  o.peak_flop_per_s = 1e9;
  const auto time = [&](const char* name) {
    const trace::ClassJob job = step(o).value();
    const Trace& t = job.classes[0];
    for (const NodeId n : t.nodes())
      if (t.name_of(n) == name) return t.dur_ps[n];
    return Picoseconds{-1};
  };
  const Picoseconds ns = static_cast<Picoseconds>(2 * kTokens * kWidth * kInner);  // at an operation a nanosecond
  EXPECT_EQ(time("layer0.mlp.up"), ns * kPsPerNs / 2);
  EXPECT_EQ(time("head.head"), static_cast<Picoseconds>(2 * kTokens * kWidth * kWords) * kPsPerNs);
  o.fp8_flop_per_s = 4e9;
  EXPECT_EQ(time("layer0.mlp.up"), ns * kPsPerNs / 4);
}

TEST(Fp8, NothingIsCastWhereItHasNoEffect) {
  StepOptions o = options();
  o.bytes_per_element = 1;
  EXPECT_EQ(work_of(o, is_cast).nodes, 0);
  EXPECT_EQ(stats_of(o).fp8_operations, 0);
  o = plain(options());
  o.model = known("dlrm");
  o.sequence = 0;
  o.dp = 2;
  const Work without = work_of(o, [](const Trace&, NodeId) { return true; });
  o.fp8 = true;
  EXPECT_EQ(work_of(o, [](const Trace&, NodeId) { return true; }).bytes, without.bytes);
  EXPECT_EQ(stats_of(o).fp8_operations, 0);
}

}  // namespace
}  // namespace chakra::gen
