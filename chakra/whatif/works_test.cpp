// What is computed: every node of compute is of one kind, by its kernel, operator or name; scaling a kind is scaling
// the nodes of their names; kinds add up.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "chakra/gen/gen.h"
#include "chakra/model/model.h"
#include "chakra/whatif/nodes.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

sim::SimInput generated(const char* model) {
  gen::StepOptions options;
  options.model = model::find_model(model)->model;
  model::ModelChange change;
  change.layers = 2;
  options.model = model::changed(options.model, change).value();
  options.sequence = 256;
  options.tp = 2, options.dp = 2, options.micro_batches = 2;
  sim::SimInput input;
  input.job = trace::expand(gen::step(options).value());
  input.fabric = {{{net::TopologyKind::switch_, 4, 100, 1000}}};
  input.decisive_path = true;
  return input;
}

/// A rank with a host thread: an operator that launches through another one, and a copy.
Trace recorded() {
  trace::Builder b;
  const uint32_t thread = b.lane({trace::Lane::Kind::thread, 1, 1}), stream = b.lane({trace::Lane::Kind::stream, 0, 7});
  const auto add = [&](const char* name, bool on_device) {
    const NodeId n = b.add(b.trace.size() + 1, b.trace.strings.intern(name), NodeType::comp);
    b.trace.lane.edit(n) = on_device ? stream : thread;
    b.trace.flags.edit(n) = trace::kSaysCpuOrNot | trace::kHasDuration | (on_device ? 0 : trace::kOnCpu);
    b.trace.dur_ps.edit(n) = (n + 1) * kPsPerUs;
    return n;
  };
  const auto launched = [&](const char* op, const char* kernel) {
    const NodeId caller = add(op, false), call = add("cudaLaunchKernel", false);
    b.ctrl(call, caller);
    b.dep(call, caller, static_cast<uint8_t>(EdgeKind::program));
    b.dep(add(kernel, true), call, static_cast<uint8_t>(EdgeKind::launch));
  };
  launched("aten::addmm", "ampere_sgemm_128x64_tn");
  launched("aten::native_layer_norm", "vectorized_layer_norm_kernel");
  launched("aten::copy_", "Memcpy DtoD (Device -> Device)");
  launched("my::operator", "my_kernel");
  return std::move(b).finish();
}

std::string work_of(const Trace& t, std::string_view name) {
  const NodeWorks works(t);
  for (const NodeId n : t.nodes())
    if (t.name_of(n) == name) return std::string(kWorks[static_cast<size_t>(works.of(n))].name);
  return "no such node";
}

TEST(Works, FollowFromKernelsOperatorsAndNames) {
  const Trace t = recorded();
  EXPECT_EQ(work_of(t, "ampere_sgemm_128x64_tn"), "matrix");
  EXPECT_EQ(work_of(t, "vectorized_layer_norm_kernel"), "normalization");
  EXPECT_EQ(work_of(t, "Memcpy DtoD (Device -> Device)"), "device_copy");
  EXPECT_EQ(work_of(t, "my_kernel"), "other");
  const sim::SimInput input = generated("llama3-8b");
  const Trace& step = input.job.ranks[0];
  EXPECT_EQ(work_of(step, "layer0.attention.q"), "matrix");
  EXPECT_EQ(work_of(step, "layer0.attention.q.wgrad"), "matrix");
  EXPECT_EQ(work_of(step, "layer0.attention"), "attention");
  EXPECT_EQ(work_of(step, "layer0.attention.grad"), "attention");
  EXPECT_EQ(work_of(step, "layer1.mlp.norm.grad"), "normalization");
  EXPECT_EQ(work_of(step, "layer0.mlp.activation.grad"), "elementwise");
  EXPECT_EQ(work_of(step, "head.loss.grad"), "loss");
  EXPECT_EQ(work_of(step, "layer0.optimizer"), "optimizer");
  EXPECT_EQ(work_of(step, "embedding.embedding"), "lookup");
}

TEST(Works, NothingOfAGeneratedStepIsOther) {
  for (const char* model : {"llama3-8b", "gpt-165m", "mixtral-8x7b"}) {
    const sim::SimInput input = generated(model);
    const Trace& t = input.job.ranks[0];
    const NodeWorks works(t);
    const NodeKinds kinds(t);
    for (const NodeId n : t.nodes())
      if (kinds.of(n) == Kind::compute) EXPECT_NE(works.of(n), WorkKind::other) << model << " " << t.name_of(n);
  }
}

TEST(Works, ScalingAKindIsScalingItsNodes) {
  const sim::SimInput before = generated("llama3-8b");
  for (const KindRow& row : kWorks) {
    SCOPED_TRACE(row.name);
    sim::SimInput by_kind = copy_of(before), by_name = copy_of(before);
    scale(by_kind, parse_selector(row.name).value(), 0.5);
    std::set<std::string> names;
    const Trace& t = before.job.ranks[0];
    const NodeWorks works(t);
    for (const NodeId n : t.nodes())
      if (t.type[n] == NodeType::comp && kWorks[static_cast<size_t>(works.of(n))].name == row.name)
        names.emplace(t.name_of(n));
    for (const std::string& name : names) scale_named(by_name, name, 0.5);
    for (size_t r = 0; r < before.job.ranks.size(); ++r)
      EXPECT_EQ(by_kind.job.ranks[r].dur_ps, by_name.job.ranks[r].dur_ps);
    EXPECT_EQ(names.empty(), by_kind.job.ranks[0].dur_ps == t.dur_ps);
  }
}

TEST(Works, AddUpToCompute) {
  std::vector<sim::SimInput> inputs(1);
  inputs[0].job.ranks.push_back(recorded());
  inputs.push_back(generated("llama3-8b"));
  for (const sim::SimInput& before : inputs) {
    sim::SimInput all = copy_of(before);
    const Reached compute = scale(all, parse_selector("compute").value(), 0.5);
    Reached sum, gone;
    sim::SimInput one_by_one = copy_of(before), without = copy_of(before);
    for (const KindRow& row : kWorks) {
      const Reached reached = scale(one_by_one, parse_selector(row.name).value(), 0.5);
      sum.nodes += reached.nodes;
      sum.time_ps += reached.time_ps;
      gone.nodes += remove(without, parse_selector(row.name).value()).nodes;
    }
    EXPECT_GT(compute.nodes, 0);
    EXPECT_EQ(sum.nodes, compute.nodes);
    EXPECT_EQ(sum.time_ps, compute.time_ps);
    EXPECT_EQ(gone.nodes, compute.nodes);
    for (size_t r = 0; r < before.job.ranks.size(); ++r)
      EXPECT_EQ(one_by_one.job.ranks[r].dur_ps, all.job.ranks[r].dur_ps);
  }
}

TEST(Works, RowsOfTheCriticalPathAddUpToCompute) {
  const sim::SimInput input = generated("llama3-8b");
  const auto report = sim::simulate(copy_of(input));
  ASSERT_TRUE(report) << report.error().message();
  Picoseconds compute = 0, sum = 0;
  for (const Sensitivity::Row& row : path_classes(input, *report))
    if (row.time->kind == Kind::compute) (row.time->work ? sum : compute) += row.on_path_ps;
  EXPECT_GT(compute, 0);
  EXPECT_EQ(sum, compute);
}

}  // namespace
}  // namespace chakra::whatif
