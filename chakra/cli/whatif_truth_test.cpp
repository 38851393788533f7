// What-ifs whose truth is known: a program is recorded, linked and changed by a rule; the same program on a machine
// that is really changed so must take as long.
#include <gtest/gtest.h>

#include <cmath>

#include "chakra/base/testing/testing.h"
#include "chakra/link/link.h"
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
};

void scale_lags(MachineOptions& m, double factor) {
  for (int64_t* lag : {&m.launch_latency_ns, &m.dispatch_gap_ns, &m.graph_latency_ns, &m.copy_gap_ns, &m.jitter_ns})
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
    {"scale", "lag=3", [](MachineOptions& m) { scale_lags(m, 3); }},
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

class WhatIfTruth : public ::testing::TestWithParam<Program> {};

TEST_P(WhatIfTruth, ARuleGivesWhatTheChangedMachineTakes) {
  const Program& program = GetParam();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    MachineOptions options;
    options.name_thirds = true;
    const trace::Trace trace = record_and_link(program, seed, options);
    ASSERT_GT(trace.size(), 0u);
    for (const Change& change : kKnownChanges) {
      SCOPED_TRACE(fmt::format("{}, seed {}, --{} {}", program.name, seed, change.rule, change.value));
      sim::SimInput input;
      input.job.ranks.push_back(trace);
      input.fabric.dimensions.push_back({net::TopologyKind::switch_, 2, 1, 0});
      const sim::SimReport before;
      Findings findings;
      whatif::Situation situation{input, before, findings};
      for (const whatif::ChangeRow& row : whatif::kChanges)
        if (row.name == change.rule && !row.apply(change.value, situation)) return;  // the program has no such node
      const auto after = sim::simulate(std::move(input));
      ASSERT_TRUE(after) << after.error().message();
      MachineOptions changed = options;
      change.make(changed);
      const double truth = span(program, seed, changed), unchanged = span(program, seed, options);
      EXPECT_NEAR(static_cast<double>(after->makespan_ps) / kPsPerNs / truth, 1, kTolerance)
          << "unchanged " << unchanged << " ns, changed " << truth << " ns";
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<Program>& program) {
  std::string name;
  for (const char c : std::string_view(program.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, WhatIfTruth, ::testing::ValuesIn(recording::testing::programs()), test_name);
INSTANTIATE_TEST_SUITE_P(DevicePrograms, WhatIfTruth, ::testing::ValuesIn(recording::testing::device_programs()),
                         test_name);

}  // namespace
}  // namespace chakra
