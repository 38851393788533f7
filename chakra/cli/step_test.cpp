// A generated step through the rooms: as classes, as files of all ranks, merged again, simulated.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

#include "chakra/base/testing/testing.h"
#include "chakra/check/check.h"
#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"
#include "chakra/model/model.h"
#include "chakra/sim/sim.h"
#include "chakra/work/work.h"

namespace chakra {
namespace {

model::Model small_model(int64_t layers, int64_t hidden, int64_t vocabulary) {
  model::ModelChange change;
  change.layers = layers;
  change.hidden = hidden;
  change.ffn = 2 * hidden;
  change.heads = 8;
  change.vocabulary = vocabulary;
  return model::changed(model::default_model(), change).value();
}

gen::StepOptions random_step(Prng& random) {
  gen::StepOptions o;
  o.sequence = 64;
  o.tp = int64_t{1} << random.below(3);
  o.pp = random.between(1, 4);
  o.dp = random.between(1, 3);
  o.virtual_stages = o.pp > 1 ? random.between(1, 2) : 1;
  int64_t layers = o.pp * o.virtual_stages * random.between(1, 2) - (random.chance(0.3) && o.pp > 1 ? 2 : 0);
  layers = std::max<int64_t>(layers, o.pp * o.virtual_stages - 2);
  o.model = small_model(std::max<int64_t>(layers, 1), 64, 100);
  o.micro_batches = o.pp * random.between(2, 4);
  o.zero = random.between(0, 3);
  o.sequence_parallel = random.chance(0.7);
  return o;
}

TEST(GeneratedStep, IsTheSameAsTheFilesOfAllItsRanks) {
  Prng random(3);
  for (int i = 0; i < 20; ++i) {
    const gen::StepOptions o = random_step(random);
    const auto job = gen::step(o);
    ASSERT_TRUE(job) << job.error().message();
    const testing::TemporaryFolder folder;
    ASSERT_TRUE(io::write_class_job(*job, folder.path("classes")));
    for (size_t r = 0; r < job->ranks.size(); ++r) {
      const trace::Trace t = trace::concrete(*job, r);
      ASSERT_TRUE(io::write_et(t, folder.write("all/step." + std::to_string(t.rank) + ".et", "")));
    }
    auto classes = io::read_job(folder.path("classes")), all = io::read_job(folder.path("all"));
    ASSERT_TRUE(classes && all);
    ASSERT_EQ(classes->ranks.size(), static_cast<size_t>(o.tp * o.pp * o.dp));
    for (size_t r = 0; r < all->ranks.size(); ++r)
      ASSERT_EQ(io::to_et(classes->ranks[r]), io::to_et(all->ranks[r])) << r;
    EXPECT_TRUE(check::check(*all).empty());

    const trace::ClassJob merged = trace::by_class(std::move(*all));
    EXPECT_EQ(merged.classes.size(), job->classes.size());
    for (size_t r = 0; r < job->ranks.size(); ++r) {
      EXPECT_EQ(merged.ranks[r].cls == merged.ranks[0].cls, job->ranks[r].cls == job->ranks[0].cls);
      ASSERT_EQ(io::to_et(trace::concrete(merged, r)), io::to_et(classes->ranks[r])) << r;
    }
  }
}

/// The work that follows from a node's kernel and sizes is the node's, but for attention that is not all of forward.
/// Returns how many nodes have a kernel.
size_t expect_kernels_to_have_their_work(const trace::ClassJob& job, const std::string& shape) {
  size_t found = 0;
  for (const trace::Trace& t : job.classes) {
    const StringId name = t.strings.find("kernel");
    for (const trace::NodeId n : t.nodes()) {
      const trace::Attrs::Range attrs = t.attrs_of(n);
      for (auto at = attrs.begin(); at != attrs.end(); ++at) {
        const trace::Attr attr = *at;
        if (name == 0 || attr.name != name) continue;
        const auto kernel = work::parse_kernel(attr.text().value());
        if (!kernel) return ADD_FAILURE() << *attr.text(), 0;
        ++found;
        if (kernel->name == "attention.backward") {
          EXPECT_EQ(static_cast<double>(t.num_ops[n]), 2 * kernel->kind->ops(kernel->sizes)) << t.name_of(n) << shape;
        }
        if (contains(kernel->name, ".")) continue;
        if (kernel->name == "experts") {  // the sizes of all three products, with whole tokens
          const double all = kernel->kind->ops(kernel->sizes);
          EXPECT_NEAR(3 * static_cast<double>(t.num_ops[n]), all, 0.05 * all) << t.name_of(n) << shape;
          continue;
        }
        EXPECT_EQ(static_cast<double>(t.num_ops[n]), kernel->kind->ops(kernel->sizes)) << t.name_of(n) << shape;
        EXPECT_EQ(static_cast<double>(t.tensor_bytes[n]), 2 * work::sum_of(kernel->kind->elements(kernel->sizes)))
            << t.name_of(n) << " " << *attr.text() << shape;
      }
    }
  }
  return found;
}

/// Experts, context, schedules: the check proves the job, and it simulates to the end.
TEST(GeneratedStep, OfRandomMeshesIsProvenAndRuns) {
  Prng random(5);
  const std::array<const char*, 5> schedules{"1f1b", "gpipe", "interleaved", "zb-h1", "dualpipe"};
  int made = 0;
  for (int i = 0; i < 120; ++i) {
    gen::StepOptions o;
    o.model = small_model(8, 64, 100);
    o.sequence = 144;
    const bool experts = random.chance(0.5);
    if (experts) {
      o.model.blocks[0].experts = model::Experts{12, 2, 96};
      model::add_layer(o.model, small_model(1, 64, 100).blocks[0]);
    }
    o.tp = int64_t{1} << random.below(3);
    o.cp = random.between(1, 3);
    o.dp = random.between(1, 4);
    o.pp = random.between(1, 4);
    o.etp = random.chance(0.5) ? 1 : 0;
    o.ep = experts ? random.between(1, 6) : 1;
    o.schedule = schedules[random.below(schedules.size())];
    o.virtual_stages = o.schedule == "interleaved" ? 2 : 1;
    o.micro_batches = o.pp * random.between(1, 3);
    o.context = static_cast<gen::ContextKind>(random.below(3));
    o.recompute = static_cast<gen::Recompute>(random.below(3));
    o.zero = random.between(0, 3);
    o.overlap = random.chance(0.7);
    o.clip = random.chance(0.3);
    auto job = gen::step(o);
    if (!job) continue;
    ++made;
    const std::string shape =
        fmt::format("{}: tp {} cp {} dp {} pp {} ep {} etp {} {}", i, o.tp, o.cp, o.dp, o.pp, o.ep, o.etp, o.schedule);
    EXPECT_GT(expect_kernels_to_have_their_work(*job, shape), 0U);
    const trace::TraceSet all = trace::expand(*job);
    const Findings findings = check::check(all);
    EXPECT_TRUE(findings.empty()) << shape << " " << findings.size() << " "
                                  << (findings.empty() ? "" : findings[0].text);
    sim::SimInput input;
    const testing::TemporaryFolder folder;
    auto fabric = net::load_fabric(folder.write(
        "net.yml", fmt::format("topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n",
                               all.ranks.size())));
    ASSERT_TRUE(fabric) << fabric.error().message();
    input.fabric = std::move(*fabric);
    input.classes = std::move(*job);
    const auto report = sim::simulate(std::move(input));
    ASSERT_TRUE(report) << shape << report.error().message();
  }
  EXPECT_GT(made, 30);
}

/// On a network without limits, the simulator finds the bubble that the formula gives.
TEST(GeneratedStep, HasTheBubbleOfTheFormula) {
  const testing::TemporaryFolder folder;
  const std::string network =
      folder.write("net.yml", "topology: [ Switch ]\nnpus_count: [ 16 ]\nbandwidth: [ 1000000000 ]\nlatency: [ 0 ]\n");
  for (const int64_t v : {1, 2, 4}) {
    gen::StepOptions o;
    o.model = small_model(16, 256, 100);
    o.ends = false;
    o.sequence = 1024;
    o.micro_batches = 8;
    o.tp = 2;
    o.pp = 4;
    o.dp = 2;
    o.virtual_stages = v;
    o.peak_flop_per_s = 1e10;
    o.memory_bytes_per_s = 1e20;
    sim::SimInput input;
    auto job = gen::step(o);
    ASSERT_TRUE(job) << job.error().message();
    sim::SimInput whole;
    whole.job = trace::expand(*job);
    whole.fold = false;
    input.classes = std::move(*job);
    auto fabric = net::load_fabric(network);
    ASSERT_TRUE(fabric) << fabric.error().message();
    whole.fabric = *fabric;
    input.fabric = std::move(*fabric);
    const auto report = sim::simulate(std::move(input));
    ASSERT_TRUE(report) << report.error().message();
    const auto unfolded = sim::simulate(std::move(whole));
    ASSERT_TRUE(unfolded) << unfolded.error().message();
    ASSERT_EQ(report->ranks.size(), unfolded->ranks.size());
    EXPECT_LT(report->actors.size(), unfolded->actors.size());
    for (size_t r = 0; r < report->ranks.size(); ++r)
      EXPECT_EQ(report->ranks[r].finish_ps, unfolded->ranks[r].finish_ps) << "rank " << r;
    Picoseconds busy = 0;
    for (const sim::RankReport& rank : report->ranks) busy = std::max(busy, rank.compute_ps);
    EXPECT_NEAR(static_cast<double>(report->makespan_ps) / static_cast<double>(busy) - 1,
                3.0 / static_cast<double>(8 * v), 0.003);
  }
}

}  // namespace
}  // namespace chakra
