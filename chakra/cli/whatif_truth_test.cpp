// What-ifs whose truth is known: a program is recorded, linked and changed by a rule; the same program on a machine
// that is really changed so must take as long.
#include <gtest/gtest.h>

#include <cmath>

#include "chakra/base/testing/testing.h"
#include "chakra/job/job.h"
#include "chakra/link/link.h"
#include "chakra/linking/linking.h"
#include "chakra/recording/recording.h"
#include "chakra/recording/testing/device_programs.h"
#include "chakra/recording/testing/machine.h"
#include "chakra/recording/testing/programs.h"
#include "chakra/sim/sim.h"
#include "chakra/whatif/whatif.h"

namespace chakra {
namespace {

using recording::testing::Machine;
using recording::testing::MachineOptions;
using recording::testing::Program;

constexpr double kTolerance = 0.01;
constexpr uint64_t kSeeds = 3;

/// A rule, and the machine that it describes.
struct Change {
  const char* rule;
  const char* value;
  void (*make)(MachineOptions& machine);
  double factor_of_lags = 1;
};

/// Scale the lags of a linked trace. The extra start time of copies is not a separate constant there.
void scale_lags(MachineOptions& m, double factor) {
  for (int64_t* lag : {&m.launch_latency_ns, &m.dispatch_gap_ns, &m.graph_latency_ns, &m.jitter_ns})
    *lag = static_cast<int64_t>(static_cast<double>(*lag) * factor);
}

constexpr Change kKnownChanges[] = {
    {"scale", "device=1", [](MachineOptions&) {}},
    {"scale", "device=0.9", [](MachineOptions& m) { m.device_scale = 0.9; }},
    {"scale", "device=0.5", [](MachineOptions& m) { m.device_scale = 0.5; }},
    {"scale", "device=1.7", [](MachineOptions& m) { m.device_scale = 1.7; }},
    {"scale", "cpu=0.8", [](MachineOptions& m) { m.host_scale = 0.8; }},
    {"scale", "cpu=1.3", [](MachineOptions& m) { m.host_scale = 1.3; }},
    {"scale", "lag=0.5", [](MachineOptions& m) { scale_lags(m, 0.5); }},
    {"scale", "lag=3", [](MachineOptions& m) { scale_lags(m, 3); }, 3},
    {"scale-node", "third_*=0.25", [](MachineOptions& m) { m.named = "third_kernel", m.named_scale = 0.25; }},
    {"scale-node", "third_*=2", [](MachineOptions& m) { m.named = "third_kernel", m.named_scale = 2; }},
};

double span(const Program& program, uint64_t seed, const MachineOptions& options) {
  Machine machine(seed, options);
  program.run(machine);
  return static_cast<double>(machine.span());
}

trace::Trace record_and_link(const Program& program, uint64_t seed, const MachineOptions& options) {
  ::chakra::testing::TemporaryFolder folder;
  Machine machine(seed, options);
  program.run(machine);
  recording::RankInput input;
  input.device = folder.write("device.json", machine.kineto());
  input.host = folder.write("host.json", machine.host_trace());
  auto linked = link::link_rank(input);
  EXPECT_TRUE(linked) << linked.error().message();
  return linked ? std::move(linked->trace) : trace::Trace();
}

class WhatIfPrograms : public ::testing::TestWithParam<Program> {};

TEST_P(WhatIfPrograms, ARuleGivesWhatTheChangedMachineTakes) {
  const Program& program = GetParam();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    MachineOptions options;
    options.name_thirds = true;
    const trace::Trace trace = record_and_link(program, seed, options);
    ASSERT_GT(trace.size(), 0u);
    const double unchanged = span(program, seed, options);
    double own_error = 0;  // of the unchanged job: the first change is none
    for (const Change& change : kKnownChanges) {
      SCOPED_TRACE(fmt::format("{}, seed {}, --{} {}", program.name, seed, change.rule, change.value));
      sim::SimInput input;
      input.job.ranks.push_back(trace);
      input.fabric.dimensions.push_back({net::TopologyKind::switch_, 2, 1, 0});
      bool applies = true;  // or the program has no such node
      for (const whatif::ChangeRow& row : whatif::kChanges)
        if (row.name == change.rule) applies = row.apply(change.value, input).has_value();
      if (!applies) {
        EXPECT_EQ(change.rule, std::string_view("scale-node"));
        continue;
      }
      const auto after = sim::simulate(std::move(input));
      ASSERT_TRUE(after) << after.error().message();
      MachineOptions changed = options;
      change.make(changed);
      const double truth = span(program, seed, changed);
      const double error = std::abs(static_cast<double>(after->makespan_ps) / kPsPerNs / truth - 1);
      if (&change == std::begin(kKnownChanges)) own_error = error;
      // What a lag is off in the unchanged job, it is off `factor` times in the changed one.
      EXPECT_LE(error, kTolerance + (change.factor_of_lags - 1) * own_error)
          << "unchanged " << unchanged << " ns, changed " << truth << " ns";
    }
  }
}

// ---- jobs: ranks that wait for each other ------------------------------------------------------------------------

struct JobOptions {
  std::vector<MachineOptions> ranks = std::vector<MachineOptions>(3);
  double transfer_scale = 1;
};
struct JobChange {
  std::vector<std::pair<const char*, const char*>> rules;
  void (*make)(JobOptions& job);
};

constexpr int kJobSteps = 6;

/// Data-parallel steps: kernels, and an all-reduce on a separate stream beside further kernels. The last kernels wait
/// for the all-reduce by an event.
std::vector<Machine> run_job(uint64_t seed, JobOptions options) {
  std::vector<Machine> machines;
  const int count = static_cast<int>(options.ranks.size());
  for (int r = 0; r < count; ++r) {
    MachineOptions& machine = options.ranks[static_cast<size_t>(r)];
    machine.rank = r;
    machine.ranks = count;
    machines.emplace_back(seed + 100 * static_cast<uint64_t>(r), machine);
  }
  Prng network(seed);
  for (int step = 0; step < kJobSteps; ++step) {
    const auto transfer =
        static_cast<int64_t>(static_cast<double>(network.between(500'000, 2'000'000)) * options.transfer_scale);
    int64_t come = 0;
    for (Machine& m : machines) {
      for (int k = 0; k < 20; ++k) recording::testing::kernel_op(m, 7, 40'000, 120'000, 3'000, 8'000);
      m.op("c10d::allreduce_", [&] {
        m.record_event(1, 7);
        m.wait_event(1, 20);
        come = std::max(come, m.launch_all_reduce(20, 4 << 20));
      });
    }
    for (Machine& m : machines) {
      m.end_all_reduce(20, come + transfer);
      m.op("c10d::wait", [&] { m.record_event(2, 20); });
      for (int k = 0; k < 5; ++k) recording::testing::kernel_op(m, 7, 40'000, 120'000, 3'000, 8'000);
      m.op("aten::add_", [&] {
        m.wait_event(2, 7);
        m.launch(7, 50'000, 80'000);
      });
      m.op("aten::item", [&] { m.synchronize_stream(7); });
    }
  }
  return machines;
}

double span(const std::vector<Machine>& machines) {
  int64_t last = 0;
  for (const Machine& m : machines) last = std::max(last, m.span());
  return static_cast<double>(last);
}

TEST(WhatIfTruth, AJobTakesWhatTheChangedJobTakes) {
  const JobChange changes[] = {
      {{{"scale", "compute=1"}}, [](JobOptions&) {}},
      {{{"scale", "device=0.7"}},
       [](JobOptions& job) {
         for (MachineOptions& m : job.ranks) m.device_scale = 0.7;
       }},
      {{{"speed", "1=0.5"}}, [](JobOptions& job) { job.ranks[1].device_scale = 2; }},
      {{{"speed", "0=2"}, {"speed", "2=0.8"}},
       [](JobOptions& job) { job.ranks[0].device_scale = 0.5, job.ranks[2].device_scale = 1 / 0.8; }},
      {{{"scale", "all_reduce=0.25"}}, [](JobOptions& job) { job.transfer_scale = 0.25; }},
      {{{"scale", "communication=3"}, {"scale", "cpu=1.2"}},
       [](JobOptions& job) {
         job.transfer_scale = 3;
         for (MachineOptions& m : job.ranks) m.host_scale = 1.2;
       }},
  };
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ::chakra::testing::TemporaryFolder folder;
    const std::vector<Machine> machines = run_job(seed, {});
    for (size_t r = 0; r < machines.size(); ++r)
      (void)folder.write(fmt::format("recordings/device.{}.json", r), machines[r].kineto());
    linking::LinkJobOptions link;
    link.inputs = {folder.path("recordings")};
    link.output = folder.path("traces");
    auto linked = linking::link_job(link);
    ASSERT_TRUE(linked) << linked.error().message();
    ASSERT_TRUE(linked->commit());
    for (const JobChange& change : changes) {
      job::WhatIfOptions options;
      options.path = folder.path("traces");
      std::string asked;
      for (const auto& [rule, value] : change.rules) {
        asked += fmt::format(" --{} {}", rule, value);
        for (const whatif::ChangeRow& row : whatif::kChanges)
          if (row.name == rule) options.changes[static_cast<size_t>(&row - whatif::kChanges.data())].push_back(value);
      }
      SCOPED_TRACE(fmt::format("seed {},{}", seed, asked));
      const auto result = job::what_if(options);
      ASSERT_TRUE(result) << result.error().message();
      JobOptions changed;
      change.make(changed);
      const double truth = span(run_job(seed, changed));
      EXPECT_NEAR(static_cast<double>(result->change.job.after_ps) / kPsPerNs / truth, 1, kTolerance)
          << "unchanged " << span(machines) << " ns, changed " << truth << " ns";
      ASSERT_TRUE(result->error());
      EXPECT_NEAR(*result->error(), 0, kTolerance);
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<Program>& program) {
  std::string name;
  for (const char c : std::string_view(program.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, WhatIfPrograms, ::testing::ValuesIn(recording::testing::programs()), test_name);
INSTANTIATE_TEST_SUITE_P(DevicePrograms, WhatIfPrograms, ::testing::ValuesIn(recording::testing::device_programs()),
                         test_name);

}  // namespace
}  // namespace chakra
