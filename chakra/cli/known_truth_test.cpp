// Recordings whose truth is known: the replay, and the replay with device durations halved, must give
// what the model of the machine gives.
#include <gtest/gtest.h>

#include <cmath>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/pytorch/pytorch.h"
#include "chakra/pytorch/testing/recording.h"
#include "chakra/sim/sim.h"

namespace chakra {
namespace {

using pytorch::testing::Machine;
using pytorch::testing::MachineOptions;
using pytorch::testing::Program;

constexpr double kTolerance = 0.01;
constexpr uint64_t kSeeds = 5;

struct Truth {
  double full_ns = 0, half_ns = 0;
};

/// The trace linked from the recording of a program, and what is true of it.
trace::Trace record_and_link(const Program& program, uint64_t seed, MachineOptions options, bool with_host,
                             Truth& truth) {
  ::chakra::testing::TemporaryFolder folder;
  Machine machine(seed, options);
  program.run(machine);
  truth.full_ns = static_cast<double>(machine.span());
  options.device_scale = 0.5;
  Machine faster(seed, options);
  program.run(faster);
  truth.half_ns = static_cast<double>(faster.span());

  pytorch::RankInput input;
  input.device = folder.write("device.json", machine.kineto());
  if (with_host) input.host = folder.write("host.json", machine.host_trace());
  auto linked = pytorch::link(input);
  EXPECT_TRUE(linked) << linked.error().message();
  if (!linked) return {};
  EXPECT_EQ(linked->report.host_ops, static_cast<int64_t>(machine.op_count()));
  if (with_host) EXPECT_EQ(linked->report.matched_host_ops, linked->report.host_ops);
  EXPECT_EQ(linked->report.attached_device_ops, static_cast<int64_t>(machine.device_op_count()));
  return std::move(linked->trace);
}

double off(Picoseconds replayed, double truth_ns) { return static_cast<double>(replayed) / kPsPerNs / truth_ns - 1; }

/// `t` without its edges of two kinds.
trace::Trace without(const trace::Trace& t, trace::EdgeKind a, trace::EdgeKind b) {
  trace::Builder builder;
  trace::Trace& copy = builder.trace;
  for (const trace::Lane& lane : t.lanes) copy.lanes.push_back(lane);
  for (trace::NodeId n = 0; n < t.size(); ++n) {
    builder.add(t.id[n], copy.strings.intern(t.name_of(n)), t.type[n]);
    copy.flags[n] = t.flags[n];
    copy.start_ps[n] = t.start_ps[n];
    copy.dur_ps[n] = t.dur_ps[n];
    copy.lane[n] = t.lane[n];
    copy.part_of[n] = t.part_of[n];
    for (const trace::NodeId caller : t.ctrl.of(n)) builder.ctrl(n, caller);
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
      if (const trace::EdgeKind kind = trace::kind_of(t.deps.kind[e]); kind != a && kind != b)
        builder.dep(n, t.deps.node[e], t.deps.kind[e], t.deps.lag_of(e));
  }
  return std::move(builder).finish();
}

class KnownTruth : public ::testing::TestWithParam<Program> {};

TEST_P(KnownTruth, ReplayAndHalvedReplayEqualIt) {
  const Program& program = GetParam();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const bool record_syncs : {true, false})
      for (const bool with_host : {true, false}) {
        SCOPED_TRACE(fmt::format("{}, seed {}, synchronisation records {}, host trace {}", program.name, seed,
                                 record_syncs, with_host));
        MachineOptions options;
        options.record_syncs = record_syncs;
        Truth truth;
        const trace::Trace t = record_and_link(program, seed, options, with_host, truth);
        ASSERT_GT(t.size(), 0u);
        auto replay = sim::self_replay(t);
        ASSERT_TRUE(replay) << replay.error().message();
        EXPECT_NEAR(off(replay->replayed_ps, truth.full_ns), 0, kTolerance);
        EXPECT_NEAR(off(replay->half_device_ps, truth.half_ns), 0, kTolerance);
        EXPECT_LT(std::abs(replay->worst_error), kTolerance);
        EXPECT_LT(replay->stream_stall_share, 0.02);
        if (program.device_matters) EXPECT_TRUE(replay->informative);
        double sum = 0;
        for (const double share : replay->critical_path) sum += share;
        EXPECT_NEAR(sum, 1, 1e-9);
      }
}

TEST_P(KnownTruth, AGraphWithoutLaunchAndSyncEdgesIsFoundOut) {
  const Program& program = GetParam();
  if (!program.edges_matter) return;
  Truth truth;
  const trace::Trace t = record_and_link(program, 1, {}, true, truth);
  auto replay = sim::self_replay(without(t, trace::EdgeKind::launch, trace::EdgeKind::sync));
  ASSERT_TRUE(replay);
  EXPECT_GT(std::max({std::abs(off(replay->replayed_ps, truth.full_ns)),
                      std::abs(off(replay->half_device_ps, truth.half_ns)), std::abs(replay->worst_error)}),
            kTolerance);
}

std::string test_name(const ::testing::TestParamInfo<Program>& program) {
  std::string name;
  for (const char c : std::string_view(program.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, KnownTruth, ::testing::ValuesIn(pytorch::testing::programs()), test_name);

}  // namespace
}  // namespace chakra
