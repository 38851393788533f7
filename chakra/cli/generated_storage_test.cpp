// Generated serving and generated storage through the rooms: proven by the check, simulated to the end, and priced as
// the closed forms say.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/check/check.h"
#include "chakra/gen/gen.h"
#include "chakra/model/model.h"
#include "chakra/sim/sim.h"

namespace chakra {
namespace {

constexpr Picoseconds kLatency = 3'000'000;
constexpr double kRate = 1e9;  // 1000 ps a byte

model::Model model(int64_t layers) {
  model::ModelChange change;
  change.layers = layers;
  change.hidden = 64;
  change.ffn = 128;
  change.heads = 8;
  change.kv_heads = 4;
  change.vocabulary = 96;
  return model::changed(model::default_model(), change).value();
}

sim::SimReport simulate(trace::ClassJob job, device::TierScope scope = device::TierScope::all, double rate = kRate) {
  sim::SimInput input;
  input.fabric = {{{net::TopologyKind::switch_, static_cast<int64_t>(job.ranks.size()), 50, 500}}};
  input.classes = std::move(job);
  input.system.tiers = {{"pfs", rate, kLatency, scope, 0}};
  auto report = sim::simulate(std::move(input));
  EXPECT_TRUE(report) << (report ? "" : report.error().message());
  return report ? std::move(*report) : sim::SimReport();
}
sim::SimReport simulated(const gen::StepOptions& o, double rate = kRate) {
  auto job = gen::step(o);
  EXPECT_TRUE(job) << (job ? "" : job.error().message());
  return simulate(std::move(job.value()), device::TierScope::all, rate);
}

gen::StepOptions small_step() {
  gen::StepOptions o;
  o.model = model(4);
  o.sequence = 64;
  o.micro_batches = 4;
  return o;
}

/// Bytes that all ranks move for a reason.
double moved(const gen::StepOptions& o, const std::string& kind) {
  const auto job = gen::step(o);
  EXPECT_TRUE(job) << (job ? "" : job.error().message());
  double sum = 0;
  const gen::StepStats stats = gen::stats(o, *job).value();
  for (const gen::ClassStats& c : stats.classes)
    for (const gen::StorageSum& s : c.storage)
      if (s.kind == kind) sum += s.bytes * static_cast<double>(c.ranks);
  return sum;
}

TEST(GeneratedServing, OfRandomMeshesIsProvenAndRuns) {
  Prng random(13);
  int made = 0, apart = 0;
  for (int i = 0; i < 150; ++i) {
    gen::ServeOptions o;
    o.model = model(random.between(1, 6));
    const bool experts = random.chance(0.4);
    if (experts) o.model.blocks[0].experts = model::Experts{12, 2, 96, 64};
    const auto mesh = [&] {
      gen::ServeMesh m{int64_t{1} << random.below(4), random.between(1, 3), random.between(1, 4), 1};
      if (experts && random.chance(0.7)) m.ep = m.dp;
      return m;
    };
    o.mesh = mesh();
    if (random.chance(0.5)) o.prefill = mesh();
    o.contexts = random.chance(0.5) ? std::vector<int64_t>{40} : std::vector<int64_t>{40, 7, 21, 7};
    if (o.contexts.size() == 1) o.batch = random.between(1, 6);
    o.chunk = random.between(0, 30);
    o.steps = random.between(1, 4);
    o.overlap = random.chance(0.7);
    if (random.chance(0.3)) o.kv_tier = "pfs", o.kv_tier_share = 0.5;
    auto job = gen::serve(o);
    if (!job) continue;
    ++made;
    apart += o.separate();
    const Findings findings = check::check(trace::expand(*job));
    EXPECT_TRUE(findings.empty()) << i << " " << (findings.empty() ? "" : findings[0].text);
    EXPECT_GT(simulate(std::move(*job)).makespan_ps, 0) << i;
  }
  EXPECT_GT(made, 40);
  EXPECT_GT(apart, 10);
}

TEST(GeneratedServing, CacheOfATierTakesLatencyAndBytesByBandwidth) {
  gen::ServeOptions o;
  o.model = model(1);
  o.contexts = {64};
  o.prompts = false;
  o.batch = 2;
  const Picoseconds without = simulate(gen::serve(o).value()).makespan_ps;
  o.kv_tier = "pfs";
  o.kv_tier_share = 1;
  const Picoseconds with = simulate(gen::serve(o).value()).makespan_ps;
  // Two sequences: 63 tokens fetched, then one evicted, of 4 heads with 8 + 8 numbers of 2 bytes. The embedding runs
  // before the fetch, the head beside the eviction.
  const Picoseconds fetch = kLatency + 2 * 63 * 4 * 16 * 2 * 1000, evict = kLatency + 2 * 4 * 16 * 2 * 1000;
  EXPECT_GE(with, without + fetch);
  EXPECT_LE(with, without + fetch + evict);
}

TEST(GeneratedStorage, OfAStepHasTheBytesOfTheFormulas) {
  for (const auto& [tp, pp, dp, zero] :
       {std::tuple(1, 1, 1, 1), {2, 1, 4, 0}, {4, 2, 2, 1}, {2, 4, 1, 2}, {1, 2, 8, 3}, {8, 1, 2, 3}})
    for (const bool tied : {true, false}) {
      gen::StepOptions o = small_step();
      o.model.tied = tied;
      o.tp = tp, o.pp = pp, o.dp = dp, o.zero = zero;
      const double parameters = static_cast<double>(model::parameters(o.model)), ranks = tp * pp * dp;
      o.storage.checkpoint_tier = "pfs";
      // Each element once, however many ranks have it; a rank rounds its bytes up.
      EXPECT_NEAR(moved(o, "ckpt_write"), parameters * (2 + 12), ranks) << tp << pp << dp << zero;
      o.storage = {};
      o.storage.data_tier = "pfs";
      o.micro_batch_size = 3;
      EXPECT_EQ(moved(o, "dataloader"), 4 * 3 * 64 * 4 * tp * dp);
      o.storage.sample_bytes = 1000;
      EXPECT_EQ(moved(o, "dataloader"), 4 * 3 * 1000 * tp * dp);
      o.storage = {};
      o.storage.restart_tier = "pfs";
      const auto stats = gen::stats(o, *gen::step(o));
      double held = 0;
      for (const gen::ClassStats& c : stats->classes)
        held += (c.memory.parameters + c.memory.optimizer) * static_cast<double>(c.ranks);
      EXPECT_NEAR(moved(o, "ckpt_read"), held, ranks);
    }
  // Experts, and DualPipe, where two stages have each piece.
  gen::StepOptions o = small_step();
  o.model.blocks[0].experts = model::Experts{12, 2, 96, 64};
  o.tp = 2, o.pp = 4, o.dp = 6, o.ep = 4, o.etp = 1;
  o.storage.checkpoint_tier = "pfs";
  EXPECT_NEAR(moved(o, "ckpt_write"), static_cast<double>(model::parameters(o.model)) * 14, 48);
  o.model = model(16);
  o.ep = 1, o.etp = 0;
  o.schedule = "dualpipe";
  o.micro_batches = 8;
  EXPECT_NEAR(moved(o, "ckpt_write"), static_cast<double>(model::parameters(o.model)) * 14, 48);
}

/// Alone latency + bytes / bandwidth, n ranks on a tier n times: added to the step, before or after it.
TEST(GeneratedStorage, CheckpointsAndRestartsTakeLatencyAndBytesByBandwidth) {
  for (const int64_t dp : {1, 2, 8}) {
    gen::StepOptions o = small_step();
    o.dp = dp;
    o.zero = 0;
    const Picoseconds without = simulated(o).makespan_ps;
    const auto parameters = model::parameters(o.model);
    o.storage.checkpoint_tier = "pfs";
    ASSERT_EQ(parameters * 14 % dp, 0);
    const sim::SimReport written = simulated(o);
    EXPECT_EQ(written.makespan_ps, without + kLatency + parameters * 14 * 1000) << dp;  // each writes 1 / dp of it
    EXPECT_EQ(written.ranks[0].exposed_storage_ps, kLatency + parameters * 14 * 1000);
    o.storage = {};
    o.storage.restart_tier = "pfs";
    EXPECT_EQ(simulated(o).makespan_ps, without + kLatency + dp * parameters * 14 * 1000)
        << dp;  // each reads all of it
  }
}

/// The optimizer waits for the checkpoint of the step before: only what is longer than the passes is exposed.
TEST(GeneratedStorage, ACheckpointBehindCostsOnlyWhatIsExposed) {
  gen::StepOptions o = small_step();
  const auto job = gen::step(o);
  Picoseconds passes = 0, optimizer = 0;
  for (const trace::NodeId n : job->classes[0].nodes())
    (job->classes[0].name_of(n).ends_with(".optimizer") ? optimizer : passes) += job->classes[0].dur_ps[n];
  o.storage.checkpoint_tier = "pfs";
  o.storage.checkpoint_behind = true;
  const auto bytes = static_cast<double>(model::parameters(o.model) * 14);
  for (const double rate : {1e9, 1e10, 1e11, 1e12, 1e13}) {
    const Picoseconds writing = kLatency + static_cast<Picoseconds>(bytes * 1e12 / rate);
    EXPECT_NEAR(static_cast<double>(simulated(o, rate).makespan_ps),
                static_cast<double>(std::max(passes, writing) + optimizer), 2)
        << rate;
  }
}

/// A micro-batch is read during the backward pass of the one before: T = R + m f + (m - 1) max(b, R) + b + optimizer.
TEST(GeneratedStorage, DataIsReadAhead) {
  gen::StepOptions o = small_step();
  const auto job = gen::step(o);
  const trace::Trace& t = job->classes[0];
  Picoseconds forward = 0, passes = 0, optimizer = 0;
  bool first = true;
  for (const trace::NodeId n : t.nodes()) {
    first = first && t.name_of(n) != "head.loss.grad";
    if (first) forward += t.dur_ps[n];
    (t.name_of(n).ends_with(".optimizer") ? optimizer : passes) += t.dur_ps[n];
  }
  EXPECT_FALSE(first);
  const Picoseconds backward = passes / 4 - forward;
  o.storage.data_tier = "pfs";
  for (const int64_t bytes : {1, 10'000, 100'000, 1'000'000}) {
    o.storage.sample_bytes = bytes;
    const Picoseconds read = kLatency + bytes * 1000;
    EXPECT_EQ(simulated(o).makespan_ps, read + 4 * forward + 3 * std::max(backward, read) + backward + optimizer)
        << bytes;
  }
}

}  // namespace
}  // namespace chakra
