// The stages of recorded pipelines, and their times.
#include "chakra/edit/stages.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"

namespace chakra::edit {
namespace {

using chakra::testing::tag_of;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr Picoseconds kForward = 1000, kBackward = 2000;

/// A rank of a recorded GPipe: `stage` of `stages`, with steps of `batches` micro-batches. Messages take no time.
class Stage {
 public:
  Stage(int64_t stage, int64_t stages, int64_t batches, int64_t steps) : stage_(stage) {
    Trace& t = builder_.trace;
    t.rank = stage;
    lane_ = builder_.lane({trace::Lane::Kind::stream, 0, 0});
    add(NodeType::comp, 0, 1);
    const Picoseconds last = stages - 1;
    const Picoseconds step = (batches + last) * (kForward + kBackward);
    for (int64_t s = 0; s < steps; ++s) {
      for (int64_t b = 0; b < batches; ++b)
        pass(s * step + (stage + b) * kForward, kForward, stage - 1, stage + 1, stages);
      const Picoseconds turn = s * step + (batches + last) * kForward;
      for (int64_t b = 0; b < batches; ++b)
        pass(turn + (last - stage + b) * kBackward, kBackward, stage + 1, stage - 1, stages);
    }
  }
  Trace finish() && { return std::move(builder_).finish(); }

 private:
  NodeId add(NodeType type, Picoseconds start, Picoseconds takes) {
    Trace& t = builder_.trace;
    const NodeId n = builder_.add(++id_, t.strings.intern("op"), type);
    t.lane.edit(n) = lane_;
    t.start_ps.edit(n) = start, t.dur_ps.edit(n) = takes;
    t.flags.edit(n) = trace::kHasStart | trace::kHasDuration;
    if (id_ > 1) builder_.dep(n, NodeId(static_cast<uint32_t>(n) - 1), static_cast<uint8_t>(trace::EdgeKind::stream));
    return n;
  }
  void message(NodeType type, Picoseconds start, int64_t from, int64_t to) {
    trace::Comm& comm = builder_.comm(add(type, start, 0));
    comm.src = from, comm.dst = to, comm.bytes = 1 << 20;
  }
  void pass(Picoseconds start, Picoseconds takes, int64_t from, int64_t to, int64_t stages) {
    if (from >= 0 && from < stages) message(NodeType::recv, start, from, stage_);
    add(NodeType::comp, start, takes);
    if (to >= 0 && to < stages) message(NodeType::send, start + takes, stage_, to);
  }

  trace::Builder builder_;
  int64_t stage_;
  uint64_t id_ = 0;
  uint32_t lane_ = 0;
};

std::vector<Trace> job_of(int64_t stages, int64_t batches, int64_t steps) {
  std::vector<Trace> job;
  for (int64_t stage = 0; stage < stages; ++stage) job.push_back(Stage(stage, stages, batches, steps).finish());
  return job;
}
std::vector<StageView> views_of(const std::vector<Trace>& job) {
  std::vector<StageView> views;
  for (const Trace& t : job) views.push_back(stage_view(t));
  return views;
}

TEST(Stages, OfARecordingKeepItsTime) {
  for (const auto& [stages, batches, steps] :
       std::vector<std::array<int64_t, 3>>{{2, 4, 1}, {4, 8, 1}, {4, 3, 2}, {9, 8, 3}}) {
    const std::vector<Trace> job = job_of(stages, batches, steps);
    const std::vector<StageView> views = views_of(job);
    const Pipeline pipeline = pipeline_of(views).value();
    EXPECT_EQ(pipeline.stages, stages);
    EXPECT_EQ(pipeline.micro_batches, batches);
    const Grid grid = shipped_grid();
    const StageHiding hiding = stage_hiding(pipeline, layer_cell_of(grid.stages, stages), views);
    if (hiding.shown() == 1)  // what the last stage waits for does not shrink, so that less is enough
      EXPECT_NEAR(measured_stretch(job.back(), hiding), hiding.stretch, 0.1 * hiding.stretch) << stages;
    Picoseconds end = 0, end_before = 0, busy = 0, busy_before = 0;
    for (const Trace& t : job) {
      for (const NodeId n : t.nodes()) end_before = std::max(end_before, t.start_ps[n] + t.dur_ps[n]);
      if (!hiding.ranks.contains(t.rank)) continue;
      HiddenStages hidden;
      const Trace made = keep_stages(t, hiding, hidden).value();
      EXPECT_EQ(hidden.unstretched, 0);
      EXPECT_EQ(made.size(), t.size());
      Picoseconds free = 0;
      for (const NodeId n : made.nodes()) {
        if (made.type[n] == NodeType::metadata) continue;
        EXPECT_GE(made.start_ps[n] + 2, free) << "operations of a lane do not overlap";
        free = made.start_ps[n] + made.dur_ps[n];
        end = std::max(end, free);
        busy += made.dur_ps[n], busy_before += t.dur_ps[n];
        if (const trace::Comm* const comm = made.comm(n)) EXPECT_LT(std::max(comm->src, comm->dst), hiding.shown());
      }
    }
    EXPECT_NEAR(static_cast<double>(end), static_cast<double>(end_before), 0.1 * static_cast<double>(end_before))
        << stages;
    EXPECT_NEAR(static_cast<double>(busy), hiding.stretch * static_cast<double>(busy_before),
                0.01 * static_cast<double>(busy));
  }
}

TEST(Stages, OfARecordingReportPassesThatCannotStretch) {
  const std::vector<Trace> job = job_of(4, 8, 1);
  const std::vector<StageView> views = views_of(job);
  const StageHiding hiding = stage_hiding(pipeline_of(views).value(), layer_cell_of(shipped_grid().stages, 4), views);
  Trace torn = job.back();
  for (const NodeId n : torn.nodes())  // a gradient that is not recorded
    if (torn.type[n] == NodeType::send) {
      torn.type.edit(n) = NodeType::comp, torn.comm_row.edit(n) = trace::kNoRow;
      break;
    }
  HiddenStages hidden;
  const Trace made = keep_stages(torn, hiding, hidden).value();
  EXPECT_EQ(hidden.unstretched, 1);
  for (const NodeId n : made.nodes())
    if (made.type[n] != NodeType::metadata) EXPECT_EQ(made.dur_ps[n], torn.dur_ps[n]);
}

TEST(Stages, StayVisibleWithoutPaths) {
  std::vector<StageView> ring = views_of(job_of(4, 4, 1));
  ring[0].peers[3].sent = ring[3].peers[0].received = 4;
  EXPECT_EQ(tag_of(pipeline_of(ring)), kStagesVisible);
  std::vector<StageView> part = views_of(job_of(4, 4, 1));
  part.erase(part.begin() + 2);
  EXPECT_EQ(tag_of(pipeline_of(part)), kStagesVisible);
  std::vector<StageView> alone = views_of(job_of(4, 4, 1));
  alone.emplace_back().rank = 4;
  EXPECT_EQ(tag_of(pipeline_of(alone)), kStagesVisible);
  std::vector<StageView> named = views_of(job_of(4, 4, 1));
  named[1].schedule = "zb-h1";
  EXPECT_EQ(tag_of(pipeline_of(named)), kStagesVisible);
}

}  // namespace
}  // namespace chakra::edit
