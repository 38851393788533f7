#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/analyze/analyze.h"
#include "chakra/base/testing/testing.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;

struct Piece {
  const char* name;
  Picoseconds start, dur;
  NodeId caller = trace::kNoNode;
};

/// A thread's chain.
trace::Trace chain(const std::vector<Piece>& pieces) {
  trace::Builder b;
  const uint32_t lane = b.lane({trace::Lane::Kind::thread, 1, 1});
  for (const Piece& piece : pieces) {
    const NodeId n = b.add(b.trace.size() + 1, b.trace.strings.intern(piece.name), trace::NodeType::comp);
    b.trace.flags.edit(n) = trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot | trace::kOnCpu;
    b.trace.start_ps.edit(n) = piece.start;
    b.trace.dur_ps.edit(n) = piece.dur;
    b.trace.lane.edit(n) = lane;
    if (piece.caller != trace::kNoNode) b.ctrl(n, piece.caller);
    if (n > 0) b.dep(n, n - 1, static_cast<uint8_t>(trace::EdgeKind::program));
  }
  return std::move(b).finish();
}

bool warns(const SelfReplay& replay) {
  return std::any_of(replay.findings.begin(), replay.findings.end(),
                     [](const Finding& finding) { return finding.tag == "sim.replay.error"; });
}

TEST(SelfReplay, AnErrorAboveOnePercentIsAWarning) {
  for (const auto& [gap, warned] : {std::pair<Picoseconds, bool>{0, false}, {9, false}, {12, true}, {500, true}}) {
    const auto replay = self_replay(chain({{"a", 0, 500}, {"b", 500 + gap, 500}}));
    ASSERT_TRUE(replay);
    EXPECT_EQ(warns(*replay), warned) << gap;
  }
}

TEST(Steps, AreNumberedAndNotInsideOfOthers) {
  const std::string gap(trace::kHostGap);
  const trace::Trace t = chain({{"ProfilerStep#3", 0, 10},
                                {"ProfilerStep#x", 10, 10},
                                {"ProfilerStep#", 20, 10},
                                {"ProfilerStep#-5", 30, 10},
                                {"ProfilerStep", 40, 10},
                                {gap.c_str(), 50, 10, NodeId(0)},
                                {"ProfilerStep#4", 60, 10},  // 6
                                {gap.c_str(), 70, 10, NodeId(6)},
                                {"aten::f", 80, 10, NodeId(6)},
                                {"ProfilerStep#99", 90, 10, NodeId(8)},
                                {gap.c_str(), 100, 10, NodeId(9)},
                                {"ProfilerStep#98", 110, 10, NodeId(9)},
                                {gap.c_str(), 120, 10, NodeId(6)},
                                {"aten::late", 130, 10, NodeId(6)},
                                {"ProfilerStep#5", 140, 10, NodeId(13)},  // the operator before seems to go on
                                {"aten::g", 150, 10, NodeId(6)}});
  EXPECT_EQ(find_steps(t).names, (std::vector<std::string>{"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"}));
}

TEST(SelfReplay, AWaitThatTheGraphKnows) {
  // Host: launch 10, then blocked until the kernel of 100 ends, then 5 more; all known.
  trace::Builder b;
  const uint32_t thread = b.lane({trace::Lane::Kind::thread, 1, 1}), stream = b.lane({trace::Lane::Kind::stream, 0, 7});
  const auto add = [&](const char* name, uint32_t lane, Picoseconds start, Picoseconds dur) {
    const NodeId n = b.add(b.trace.size() + 1, b.trace.strings.intern(name), trace::NodeType::comp);
    b.trace.flags.edit(n) = static_cast<uint8_t>(trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot |
                                                 (lane == thread ? trace::kOnCpu : 0));
    b.trace.start_ps.edit(n) = start;
    b.trace.dur_ps.edit(n) = dur;
    b.trace.lane.edit(n) = lane;
    return n;
  };
  const NodeId launch = add("cudaLaunchKernel", thread, 0, 10), kernel = add("k", stream, 12, 100);
  const NodeId rest = add("[chakra|sync_remainder]", thread, 112, 5);
  b.dep(kernel, launch, static_cast<uint8_t>(trace::EdgeKind::launch), 2);
  b.dep(rest, launch, static_cast<uint8_t>(trace::EdgeKind::program));
  b.dep(rest, kernel, static_cast<uint8_t>(trace::EdgeKind::sync));
  const trace::Trace t = std::move(b).finish();
  auto replay = self_replay(t);
  ASSERT_TRUE(replay);
  EXPECT_EQ(replay->measured_ps, 117);
  EXPECT_EQ(replay->replayed_ps, 117);
  EXPECT_EQ(replay->half_device_ps, 67);
  EXPECT_TRUE(replay->informative);
  const auto share = [&](PathPart part) { return replay->critical_path[static_cast<size_t>(part)]; };
  EXPECT_DOUBLE_EQ(share(PathPart::device), 100.0 / 117);
  EXPECT_DOUBLE_EQ(share(PathPart::constants), 2.0 / 117);
  EXPECT_DOUBLE_EQ(share(PathPart::host_op), 10.0 / 117);
  EXPECT_DOUBLE_EQ(share(PathPart::sync_remainder), 5.0 / 117);
  EXPECT_EQ(replay->steps.at(0).name, "recording");
  EXPECT_EQ(replay->start_error_max_ps, 0);
  EXPECT_EQ(replay->stream_stall_share, 0);
}

TEST(SelfReplay, NothingToCompareWith) {
  trace::Builder b;
  b.trace.dur_ps.edit(b.add(1, 0, trace::NodeType::comp)) = 5;
  EXPECT_EQ(testing::tag_of(self_replay(std::move(b).finish())), "sim.replay.no_times");
}

}  // namespace
}  // namespace chakra::analyze
