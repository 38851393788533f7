// Recordings whose truth is known: the replay, and the replay with device durations halved, must give
// what the model of the machine gives.
#include <gtest/gtest.h>

#include <cmath>

#include "chakra/analyze/analyze.h"
#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/link/link.h"
#include "chakra/match/match.h"
#include "chakra/recording/recording.h"
#include "chakra/recording/testing/device_programs.h"
#include "chakra/recording/testing/machine.h"
#include "chakra/recording/testing/programs.h"
#include "chakra/sim/sim.h"

namespace chakra {
namespace {

using recording::testing::Machine;
using recording::testing::MachineOptions;
using recording::testing::Program;

constexpr double kTolerance = 0.01;
constexpr uint64_t kSeeds = 5;

struct Truth {
  double full_ns = 0, half_ns = 0, half_recorded_ns = 0;
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
  options.scale_unrecorded = false;
  Machine partly_faster(seed, options);
  program.run(partly_faster);
  truth.half_recorded_ns = static_cast<double>(partly_faster.span());

  recording::RankInput input;
  input.device = folder.write("device.json", machine.kineto());
  if (with_host) input.host = folder.write("host.json", machine.host_trace());
  auto linked = link::link_rank(input);
  EXPECT_TRUE(linked) << linked.error().message();
  if (!linked) return {};
  EXPECT_EQ(linked->report.host_ops, static_cast<int64_t>(machine.op_count()));
  if (with_host) EXPECT_EQ(linked->report.matched_host_ops, linked->report.host_ops);
  EXPECT_EQ(linked->report.attached_device_ops, static_cast<int64_t>(machine.device_op_count()));
  // No rule fires where its cause lacks, and each where it does not.
  EXPECT_EQ(linked->report.host_spins, machine.spin_count());
  EXPECT_EQ(linked->report.unrecorded, machine.unrecorded_count());
  return std::move(linked->trace);
}

double off(Picoseconds replayed, double truth_ns) { return static_cast<double>(replayed) / kPsPerNs / truth_ns - 1; }

/// `t` without its edges of two kinds.
trace::Trace without(const trace::Trace& t, trace::EdgeKind a, trace::EdgeKind b) {
  trace::Builder builder;
  trace::Trace& copy = builder.trace;
  for (const trace::Lane& lane : t.lanes) copy.lanes.push_back(lane);
  for (const trace::NodeId n : t.nodes()) {
    builder.add(t.id[n], copy.strings.intern(t.name_of(n)), t.type[n]);
    copy.flags.edit(n) = t.flags[n];
    copy.start_ps.edit(n) = t.start_ps[n];
    copy.dur_ps.edit(n) = t.dur_ps[n];
    copy.lane.edit(n) = t.lane[n];
    copy.part_of.edit(n) = t.part_of[n];
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
        auto replay = analyze::self_replay(t);
        ASSERT_TRUE(replay) << replay.error().message();
        EXPECT_NEAR(off(replay->replayed_ps, truth.full_ns), 0, kTolerance);
        EXPECT_NEAR(off(replay->half_device_ps, truth.half_ns), 0, kTolerance);
        EXPECT_NEAR(off(replay->half_recorded_ps, truth.half_recorded_ns), 0, kTolerance);
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
  auto replay = analyze::self_replay(without(t, trace::EdgeKind::launch, trace::EdgeKind::sync));
  ASSERT_TRUE(replay);
  EXPECT_GT(std::max({std::abs(off(replay->replayed_ps, truth.full_ns)),
                      std::abs(off(replay->half_device_ps, truth.half_ns)), std::abs(replay->worst_error)}),
            kTolerance);
}

// ---- two ranks -----------------------------------------------------------------------------------------------

struct RankClock {
  double offset_ns = 0, drift_ppm = 0;
};
constexpr int kSteps = 100;
constexpr int kLateStep = 60;
constexpr int64_t kLateNs = 5'000'000;

/// The Kineto trace of a rank that computes for about 2 ms and then takes part in an all-reduce, which ends on
/// all ranks within half a microsecond, 300 us after the last one began. `late` computes 5 ms longer once.
std::string ranks_recording(int rank, const RankClock& clock, int late, uint64_t seed) {
  Prng job(seed);  // the same draws on every rank
  std::string events;
  double ready = 1e9;  // true time at which both ranks begin a step
  const auto event = [&](const char* category, const std::string& name, const char* pid, const char* tid, double start,
                         double end, const std::string& args) {
    const auto shown = [&](double t) { return t + clock.offset_ns + clock.drift_ppm * 1e-6 * (t - 1e9); };
    events += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}, \"dur\": "
        "{:.3f}, \"args\": {{{}}}}}",
        events.empty() ? "" : ",\n", category, name, pid, tid, shown(start) / 1e3, (shown(end) - shown(start)) / 1e3,
        args);
  };
  const auto launch = [&](int correlation, double at) {
    event("cuda_runtime", "cudaLaunchKernel", "100", "100", at, at + 5'000,
          fmt::format("\"correlation\": {}", correlation));
  };
  for (int step = 0; step < kSteps; ++step) {
    std::array<double, 2> begins{};
    for (int r = 0; r < 2; ++r) {
      const auto compute = static_cast<double>(job.between(1'900'000, 2'100'000));
      begins[static_cast<size_t>(r)] = ready + 20'000 + compute + (step == kLateStep && r == late ? kLateNs : 0);
    }
    const double end = std::max(begins[0], begins[1]) + 300'000;
    std::array<double, 2> leaves{};
    for (double& leave : leaves) leave = end + static_cast<double>(job.between(0, 500));
    const double begin = begins[static_cast<size_t>(rank)], left = leaves[static_cast<size_t>(rank)];
    const int id = 10 + 2 * step;
    launch(id, ready);
    launch(id + 1, ready + 6'000);
    event("kernel", "gemm", "0", "7", ready + 20'000, begin - 1'000,
          fmt::format("\"device\": 0, \"stream\": 7, \"correlation\": {}", id));
    event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "0", "7", begin, left,
          fmt::format("\"device\": 0, \"stream\": 7, \"correlation\": {}, \"Collective name\": \"allreduce\", \"In msg "
                      "nelems\": 1024, \"Out msg nelems\": 1024, \"Group size\": 2, \"dtype\": \"Float\", \"Process "
                      "Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\"",
                      id + 1));
    ready = end + 1'000;
  }
  return fmt::format(
      "{{\"schemaVersion\": 1, \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": 2}}, "
      "\"traceEvents\": [{}]}}",
      rank, events);
}

TEST(Job, SkewedClocksAndTheLateRankAreFound) {
  for (uint64_t seed = 1; seed <= 5; ++seed)
    for (const RankClock clock : {RankClock{3'000'000, 0}, RankClock{-250'000, 30}, RankClock{17, -12}}) {
      ::chakra::testing::TemporaryFolder folder;
      trace::TraceSet job;
      for (int rank = 0; rank < 2; ++rank) {
        recording::RankInput input;
        input.device = folder.write(fmt::format("rank{}.json", rank),
                                    ranks_recording(rank, rank == 1 ? clock : RankClock{}, 1, seed));
        auto linked = link::link_rank(input);
        ASSERT_TRUE(linked) << linked.error().message();
        ASSERT_EQ(linked->report.comm_nodes, kSteps);
        job.ranks.push_back(analyze::communication_of(linked->trace));
      }
      const match::Matching matching = match::match(job);
      EXPECT_TRUE(matching.findings.empty());
      const analyze::JobTimes times = analyze::job_times(job, matching);
      ASSERT_EQ(times.clocks.size(), 2u);
      for (const double t : {0.0, 1.2e8, 2.4e8})  // the recording is 0.24 s long
        EXPECT_NEAR(times.clocks[1].offset_ns + times.clocks[1].drift_ppm * 1e-6 * t,
                    clock.offset_ns + clock.drift_ppm * 1e-6 * t, 2'000)
            << "seed " << seed << ", offset " << clock.offset_ns << ", after " << t << " ns";
      ASSERT_FALSE(times.stragglers.empty());
      EXPECT_EQ(times.stragglers[0].rank, 1);
      EXPECT_GT(times.stragglers[0].waited_ns, kLateNs * 0.9);
      // Of the waits all but the late one are about 70 us.
      ASSERT_EQ(times.collectives.size(), 1u);
      EXPECT_NEAR(times.collectives[0].transfer_ns, kSteps * 300'000.0, kSteps * 3'000.0);
    }
}

std::string test_name(const ::testing::TestParamInfo<Program>& program) {
  std::string name;
  for (const char c : std::string_view(program.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, KnownTruth, ::testing::ValuesIn(recording::testing::programs()), test_name);
INSTANTIATE_TEST_SUITE_P(DevicePrograms, KnownTruth, ::testing::ValuesIn(recording::testing::device_programs()),
                         test_name);

}  // namespace
}  // namespace chakra
