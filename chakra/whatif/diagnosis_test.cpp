// Diagnoses of simulated jobs with one planted problem each, on random meshes: the first row must have the kind and the
// place, and the cost must be the difference from the same job without the problem. Healthy jobs have no row.
#include "chakra/whatif/diagnosis.h"
#include "chakra/base/join.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>

#include "chakra/net/change.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::whatif {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::testing::Job;

constexpr Picoseconds kLayer = 100 * kPsPerUs;

/// A data-parallel job: layers of computation, each followed by an all-reduce on its own, which the next layer hides.
struct Plan {
  int64_t ranks = 4, layers = 12;
  uint64_t bytes = 1 << 20;
  int64_t parts = 1;    ///< all-reduces of a layer
  bool overlap = true;  ///< else each layer waits for the all-reduce of the layer before
  int64_t slow = -1;    ///< this rank computes longer
  double longer = 1;
};
Job job_of(const Plan& plan) {
  Job job(static_cast<size_t>(plan.ranks));
  for (int64_t r = 0; r < plan.ranks; ++r) {
    std::vector<NodeId> before;
    for (int64_t layer = 0; layer < plan.layers; ++layer) {
      const double factor = r == plan.slow ? plan.longer : 1;
      const NodeId n = job.compute(r, static_cast<Picoseconds>(kLayer * factor), before);
      std::vector<NodeId> after{n};
      for (int64_t part = 0; part < plan.parts; ++part)
        after.push_back(job.collective(r, CommType::all_reduce, plan.bytes, {after.back()}));
      before = {plan.overlap ? n : after.back()};
    }
  }
  return job;
}
sim::SimInput input_of(const Plan& plan, double gib_per_s = 100, double latency_ns = 500) {
  sim::SimInput in;
  in.job = job_of(plan).finish();
  in.fabric = {{{net::TopologyKind::switch_, plan.ranks, gib_per_s, latency_ns}}};
  return in;
}
struct Judged {
  Picoseconds makespan = 0;
  analyze::Diagnoses found;
};
Judged judge(const sim::SimInput& in) {
  const auto report = sim::simulate(sim::copy_of(in));
  EXPECT_TRUE(report) << report.error().message();
  if (!report) return {};
  auto found = diagnose(sim::copy_of(in), *report);
  EXPECT_TRUE(found) << found.error().message();
  return {report->makespan_ps, found ? std::move(*found) : analyze::Diagnoses{}};
}
std::string text(const analyze::Diagnoses& found) {
  std::string out;
  for (const auto& d : found.rows) out += fmt::format("{} {} {}: {}\n", d.kind, d.place, d.cost, d.sentence);
  return out;
}
/// The first row has this kind and place, and a cost within the tolerance (by the run) of the difference of the runs.
void expect(const sim::SimInput& sick, const sim::SimInput& healthy, std::string_view kind, std::string_view place,
            double tolerance) {
  const Judged is = judge(sick), was = judge(healthy);
  ASSERT_FALSE(is.found.rows.empty());
  const analyze::Diagnosis& first = is.found.rows[0];
  EXPECT_EQ(first.kind, kind) << text(is.found);
  EXPECT_EQ(first.place, place) << text(is.found);
  EXPECT_NEAR(static_cast<double>(first.cost), static_cast<double>(is.makespan - was.makespan),
              tolerance * static_cast<double>(is.makespan))
      << text(is.found);
  ASSERT_EQ(was.found.rows.size(), 1u) << text(was.found);
  EXPECT_EQ(was.found.rows[0].kind, "none") << text(was.found);
}
Plan random_plan(Prng& random) {
  return {.ranks = static_cast<int64_t>(random.between(3, 9)), .layers = static_cast<int64_t>(random.between(40, 60))};
}
constexpr int kRounds = 20;

TEST(SimulatedDiagnosis, ASlowRankInItsTrace) {
  Prng random(1);
  for (int round = 0; round < kRounds; ++round) {
    Plan sick = random_plan(random);
    const Plan healthy = sick;
    sick.slow = static_cast<int64_t>(random.below(static_cast<uint64_t>(sick.ranks)));
    sick.longer = 1.05 + 0.05 * static_cast<double>(random.below(20));
    expect(input_of(sick), input_of(healthy), "slow_rank", fmt::format("rank {}", sick.slow), 1e-9);
  }
}

TEST(SimulatedDiagnosis, ASlowRankOfTheSystem) {
  Prng random(2);
  for (int round = 0; round < kRounds; ++round) {
    const Plan plan = random_plan(random);
    sim::SimInput sick = input_of(plan);
    const auto rank = static_cast<int64_t>(random.below(static_cast<uint64_t>(plan.ranks)));
    sick.system.unlike[rank].speed = 0.5 + 0.02 * static_cast<double>(random.below(20));
    expect(sick, input_of(plan), "slow_rank", fmt::format("rank {}", rank), 1e-9);
  }
}

TEST(SimulatedDiagnosis, ASlowRankOfAClass) {
  Plan plan{.ranks = 6, .layers = 40};
  sim::SimInput sick, healthy;
  healthy.classes = trace::by_class(job_of(plan).finish());
  plan.slow = 4, plan.longer = 1.5;
  sick.classes = trace::by_class(job_of(plan).finish());
  healthy.fabric = sick.fabric = input_of(plan).fabric;
  ASSERT_EQ(sick.classes->classes.size(), 2u);
  expect(sick, healthy, "slow_rank", "rank 4", 1e-9);
}

TEST(SimulatedDiagnosis, ASlowLink) {
  Prng random(3);
  for (int round = 0; round < kRounds; ++round) {
    const Plan plan = random_plan(random);
    const sim::SimInput healthy = input_of(plan);
    sim::SimInput sick = sim::copy_of(healthy);
    const auto rank = static_cast<uint32_t>(random.below(static_cast<uint64_t>(plan.ranks)));
    sick.fabric = *net::with_slow_link(healthy.fabric, {rank, static_cast<uint32_t>(plan.ranks)},
                                       0.01 + 0.01 * static_cast<double>(random.below(8)));
    if (round % 2 == 1) sick.fabric = net::as_graph(sick.fabric);
    const Judged is = judge(sick), was = judge(healthy);
    EXPECT_EQ(is.found.rows[0].kind, "slow_link") << text(is.found);
    EXPECT_TRUE(is.found.rows[0].place == fmt::format("link {} -> switch 0", rank) ||
                is.found.rows[0].place == fmt::format("link switch 0 -> {}", rank))
        << text(is.found);
    EXPECT_NEAR(static_cast<double>(is.found.rows[0].cost), static_cast<double>(is.makespan - was.makespan),
                0.001 * static_cast<double>(is.makespan))
        << text(is.found);
  }
}

/// Leaves with two ranks each, and four spines. All messages take the first spine, or all spines.
sim::SimInput leaf_spine(int64_t leaves, net::Routing routing, uint64_t bytes) {
  std::string file = fmt::format("ranks: {}\nswitches: [spine0, spine1, spine2, spine3", 2 * leaves);
  for (int64_t leaf = 0; leaf < leaves; ++leaf) file += fmt::format(", leaf{}", leaf);
  file += "]\nlinks:\n";
  for (int64_t rank = 0; rank < 2 * leaves; ++rank)
    file += fmt::format("  - {{ from: {}, to: leaf{}, bandwidth: 50, latency: 500 }}\n", rank, rank / 2);
  for (int64_t leaf = 0; leaf < leaves; ++leaf)
    for (int spine = 0; spine < 4; ++spine)
      file += fmt::format("  - {{ from: leaf{}, to: spine{}, bandwidth: 12.5, latency: 500 }}\n", leaf, spine);
  Job job(static_cast<size_t>(2 * leaves));
  for (int64_t r = 0; r < 2 * leaves; ++r) {
    const NodeId n = job.compute(static_cast<size_t>(r), 20 * kLayer);
    const int64_t leaf = r / 2, to = (leaf + 1) % leaves * 2 + r % 2, from = (leaf + leaves - 1) % leaves * 2 + r % 2;
    job.message(static_cast<size_t>(r), NodeType::send, to, bytes, {n});
    job.message(static_cast<size_t>(r), NodeType::recv, from, bytes, {n});
  }
  sim::SimInput in;
  in.job = job.finish();
  in.fabric = *net::parse_fabric(*parse_spec(file, "net.yml"));
  in.fabric.routing.kind = routing;
  in.congestion = sim::Congestion::fluid;
  return in;
}

TEST(SimulatedDiagnosis, ALoadedLink) {
  Prng random(8);
  for (int round = 0; round < kRounds; ++round) {
    const auto leaves = static_cast<int64_t>(random.between(2, 6));
    const uint64_t bytes = (20 + random.below(40)) << 20;
    const Judged is = judge(leaf_spine(leaves, net::Routing::single, bytes));
    const Judged was = judge(leaf_spine(leaves, net::Routing::spread, bytes));
    EXPECT_EQ(is.found.rows[0].kind, "loaded_link") << text(is.found);
    EXPECT_NE(is.found.rows[0].place.find("spine"), std::string::npos) << text(is.found);
    EXPECT_NEAR(static_cast<double>(is.found.rows[0].cost), static_cast<double>(is.makespan - was.makespan),
                0.01 * static_cast<double>(is.makespan))
        << text(is.found);
    for (const analyze::Diagnosis& d : was.found.rows) EXPECT_NE(d.kind, "loaded_link") << text(was.found);
  }
}

TEST(SimulatedDiagnosis, SmallMessages) {
  Prng random(4);
  for (int round = 0; round < kRounds; ++round) {
    Plan plan = random_plan(random);
    plan.overlap = false;
    plan.bytes = 256;
    plan.parts = static_cast<int64_t>(random.between(4, 12));
    sim::SimInput sick = input_of(plan, 100, 2000);
    sim::SimInput healthy = sim::copy_of(sick);
    healthy.fabric.dimensions[0].latency_ns = 0;
    const Judged is = judge(sick), was = judge(healthy);
    EXPECT_EQ(is.found.rows[0].kind, "small_messages") << text(is.found);
    EXPECT_NEAR(static_cast<double>(is.found.rows[0].cost), static_cast<double>(is.makespan - was.makespan),
                0.01 * static_cast<double>(is.makespan))
        << text(is.found);
  }
}

TEST(SimulatedDiagnosis, NoOverlap) {
  Prng random(5);
  for (int round = 0; round < kRounds; ++round) {
    Plan plan = random_plan(random);
    plan.bytes = (2 + random.below(3)) << 20;
    const sim::SimInput healthy = input_of(plan);
    plan.overlap = false;
    const Judged is = judge(input_of(plan)), was = judge(healthy);
    EXPECT_EQ(is.found.rows[0].kind, "no_overlap") << text(is.found);
    const auto real = static_cast<double>(is.makespan - was.makespan);
    // One all-reduce, the last, cannot overlap.
    EXPECT_NEAR(static_cast<double>(is.found.rows[0].cost), real, 0.03 * static_cast<double>(is.makespan))
        << text(is.found);
    EXPECT_GE(static_cast<double>(is.found.rows[0].cost), real * 0.999);
    EXPECT_EQ(was.found.rows[0].kind, "none") << text(was.found);
  }
}

/// A pipeline of stages that pass activations; only forward.
sim::SimInput pipeline(int64_t stages, int64_t micro_batches) {
  Job job(static_cast<size_t>(stages));
  for (int64_t s = 0; s < stages; ++s) {
    std::vector<NodeId> before;
    for (int64_t m = 0; m < micro_batches; ++m) {
      std::vector<NodeId> on = before;
      if (s > 0) on.push_back(job.message(s, NodeType::recv, s - 1, 1024, {}, m));
      const NodeId n = job.compute(s, kLayer, on);
      if (s + 1 < stages) job.message(s, NodeType::send, s + 1, 1024, {n}, m);
      before = {n};
    }
  }
  sim::SimInput in;
  in.job = job.finish();
  in.fabric = {{{net::TopologyKind::switch_, stages, 100, 500}}};
  return in;
}

TEST(SimulatedDiagnosis, PipelineBubbles) {
  Prng random(6);
  for (int round = 0; round < kRounds; ++round) {
    const auto stages = static_cast<int64_t>(random.between(2, 8));
    const auto micro_batches = static_cast<int64_t>(random.between(1, 12));
    const Judged is = judge(pipeline(stages, micro_batches));
    EXPECT_EQ(is.found.rows[0].kind, "pipeline_bubbles") << text(is.found);
    // The part of the run that p - 1 of m + p - 1 turns take.
    EXPECT_NEAR(static_cast<double>(is.found.rows[0].cost), static_cast<double>((stages - 1) * kLayer),
                0.03 * static_cast<double>(is.makespan))
        << text(is.found);
  }
  EXPECT_EQ(judge(pipeline(2, 200)).found.rows[0].kind, "none");
}

/// Layers of experts: each rank sends equal parts, computes for its load, and sends the results back. `loads`: by layer
/// and rank, 1 is the mean.
sim::SimInput experts(const std::vector<std::vector<double>>& loads) {
  const size_t ranks = loads[0].size();
  constexpr double kOps = 1e9;
  static std::deque<std::string> texts;  // of splits
  Job job(ranks);
  const auto exchange = [&](size_t r, const std::vector<int64_t>& sent, const std::vector<int64_t>& received,
                            NodeId on) {
    int64_t sum = 0;
    for (const int64_t each : sent) sum += each;
    const NodeId n = job.collective(r, CommType::all_to_all, static_cast<uint64_t>(16 * sum), {on});
    trace::Comm& comm = job.builders[r].comm(n);
    comm.in_split = texts.emplace_back(fmt::format("[{}]", join(sent, ", ")));
    comm.out_split = texts.emplace_back(fmt::format("[{}]", join(received, ", ")));
    return n;
  };
  for (size_t r = 0; r < ranks; ++r) {
    std::vector<NodeId> before;
    for (const std::vector<double>& layer : loads) {
      std::vector<int64_t> of_ranks;
      for (const double load : layer) of_ranks.push_back(std::llround(1000 * load));
      const std::vector<int64_t> own(ranks, of_ranks[r]);
      const NodeId there = exchange(r, of_ranks, own, job.compute(r, 3 * kLayer, before));
      const NodeId work = job.compute(r, static_cast<Picoseconds>(static_cast<double>(kLayer) * layer[r]), {there});
      job.builders[r].trace.num_ops.resize(work + 1);
      job.builders[r].trace.num_ops.edit(work) = static_cast<uint64_t>(kOps * layer[r]);
      before = {exchange(r, own, of_ranks, work)};
    }
  }
  sim::SimInput in;
  in.job = job.finish();
  in.fabric = {{{net::TopologyKind::switch_, static_cast<int64_t>(ranks), 100, 500}}};
  return in;
}

/// The loads of layers where one rank has `most` times the mean, and the others share the rest.
std::vector<std::vector<double>> loads_of(size_t layers, size_t ranks, double most,
                                          const std::function<size_t()>& heavy) {
  std::vector<std::vector<double>> loads(
      layers, std::vector<double>(ranks, (static_cast<double>(ranks) - most) / static_cast<double>(ranks - 1)));
  for (std::vector<double>& layer : loads) layer[heavy()] = most;
  return loads;
}

TEST(SimulatedDiagnosis, SkewedExperts) {
  Prng random(9);
  for (int round = 0; round < kRounds; ++round) {
    const size_t ranks = random.between(2, 8), layers = random.between(2, 12);
    const double most = 1.25 + 0.7 * static_cast<double>(random.below(100)) / 100;
    const size_t heavy = random.below(ranks);
    const auto even = [&](size_t of) { return experts(loads_of(of, ranks, 1, [] { return size_t{0}; })); };
    expect(experts(loads_of(layers, ranks, most, [&] { return heavy; })), even(layers), "skewed_expert",
           fmt::format("rank {}", heavy), 0.001);
    size_t next = heavy;  // each rank is the busiest of as many layers
    expect(experts(loads_of(2 * ranks, ranks, most, [&] { return next++ % ranks; })), even(2 * ranks), "skewed_expert",
           "group ", 0.001);
  }
}

/// A device that waits for its host: each kernel has a launch that takes longer than the kernel, or a tenth.
sim::SimInput launches(int64_t ranks, int64_t kernels, double host_by_kernel) {
  Job job(static_cast<size_t>(ranks));
  for (size_t r = 0; r < static_cast<size_t>(ranks); ++r) {
    trace::Trace& t = job.builders[r].trace;
    std::vector<NodeId> host, device;
    for (int64_t k = 0; k < kernels; ++k) {
      host = {job.compute(r, static_cast<Picoseconds>(static_cast<double>(kLayer) * host_by_kernel), host)};
      t.flags.edit(host[0]) |= trace::kOnCpu;
      t.lane.edit(host[0]) = job.builders[r].lane({trace::Lane::Kind::thread, 1, 1});
      device.push_back(host[0]);
      device = {job.compute(r, kLayer, device)};
      t.lane.edit(device[0]) = job.builders[r].lane({trace::Lane::Kind::stream, 0, 7});
    }
  }
  sim::SimInput in;
  in.job = job.finish();
  in.fabric = {{{net::TopologyKind::switch_, ranks, 100, 500}}};
  return in;
}

TEST(SimulatedDiagnosis, AHostThatIsLate) {
  Prng random(10);
  for (int round = 0; round < kRounds; ++round) {
    const auto ranks = static_cast<int64_t>(random.between(1, 6)),
               kernels = static_cast<int64_t>(random.between(50, 200));
    const double late = 1.06 + 0.02 * static_cast<double>(random.below(20));
    // The first launch remains in a healthy job.
    expect(launches(ranks, kernels, late), launches(ranks, kernels, 0.05), "host_bound", "all ranks", 0.03);
  }
}

TEST(SimulatedDiagnosis, HealthyJobsHaveNoRow) {
  Prng random(7);
  for (int round = 0; round < 5 * kRounds; ++round) {
    sim::SimInput in = input_of(random_plan(random));
    for (trace::Trace& t : in.job.ranks)  // 1 % jitter
      for (const NodeId n : t.nodes())
        if (t.type[n] == NodeType::comp)
          t.dur_ps.edit(n) = static_cast<Picoseconds>(static_cast<double>(t.dur_ps[n]) *
                                                      (0.99 + 0.0002 * static_cast<double>(random.below(101))));
    const Judged is = judge(in);
    ASSERT_EQ(is.found.rows.size(), 1u) << text(is.found);
    EXPECT_EQ(is.found.rows[0].kind, "none") << text(is.found);
  }
}

}  // namespace
}  // namespace chakra::whatif
