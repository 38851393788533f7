// Grids of fleets by their definition, and traces whose sizes are shown by a grid.
#include "chakra/edit/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "chakra/base/testing/testing.h"
#include "chakra/edit/edit.h"

namespace chakra::edit {
namespace {

using chakra::testing::tag_of;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;

constexpr size_t kActivations = static_cast<size_t>(Quantity::activations);

std::vector<FleetJob> random_fleet(Prng& random, size_t jobs) {
  std::vector<FleetJob> fleet(jobs);
  for (FleetJob& job : fleet) {
    job.width = 256 * random.between(2, 64);
    for (size_t i = 0; i < 6; ++i)
      job.sizes[kActivations].insert(static_cast<uint64_t>(job.width) * (1024ULL << random.below(6)));
  }
  return fleet;
}

TEST(Grid, OfAFleetHasFiveJobsAndFourValuesInEachCell) {
  Prng random(1);
  for (int round = 0; round < 50; ++round) {
    const std::vector<FleetJob> fleet = random_fleet(random, 8 + random.below(60));
    const auto grid = grid_of(fleet);
    ASSERT_TRUE(grid) << grid.error().message();
    std::map<const Cell*, std::pair<std::set<size_t>, std::set<int64_t>>> widths, sizes;
    for (size_t j = 0; j < fleet.size(); ++j) {
      const Cell& width = cell_of(grid->widths, static_cast<double>(fleet[j].width));
      widths[&width].first.insert(j), widths[&width].second.insert(fleet[j].width);
      EXPECT_LE(width.low, fleet[j].width);
      EXPECT_GE(width.high, fleet[j].width);
      for (const uint64_t size : fleet[j].sizes[kActivations]) {
        const double scaled = static_cast<double>(size) * scale(*grid, Quantity::activations, fleet[j].width);
        const Cell& cell = cell_of(grid->sizes[kActivations], scaled);
        sizes[&cell].first.insert(j), sizes[&cell].second.insert(static_cast<int64_t>(size));
        EXPECT_GE(std::log2(cell.high / cell.low), 1.0 / 8 - 1e-9);
      }
    }
    for (const auto& [cell, in] : widths)
      EXPECT_TRUE(in.first.size() >= kLeastJobs && in.second.size() >= kLeastValues) << cell->low << ' ' << round;
    for (const auto& [cell, in] : sizes)
      EXPECT_TRUE(in.first.size() >= kLeastJobs && in.second.size() >= kLeastValues) << cell->low << ' ' << round;
  }
}

TEST(Grid, RefusesAFleetThatCannotHideAWidth) {
  std::vector<FleetJob> fleet(4);
  for (size_t j = 0; j < fleet.size(); ++j) fleet[j].width = 1024 * static_cast<int64_t>(j + 1);
  EXPECT_EQ(tag_of(grid_of(fleet)), "edit.grid.few");  // four jobs
  fleet.resize(9, fleet[0]);
  EXPECT_TRUE(grid_of(fleet));
  for (FleetJob& job : fleet) job.width = job.width == 2048 ? 1024 : job.width;
  EXPECT_EQ(tag_of(grid_of(fleet)), "edit.grid.few");  // three widths
}

TEST(Grid, GivesValuesBetweenCellsToTheNearer) {
  const Cells cells{{100, 200, 150}, {800, 900, 850}};
  EXPECT_EQ(cell_of(cells, 1).shown, 150);
  EXPECT_EQ(cell_of(cells, 200).shown, 150);
  EXPECT_EQ(cell_of(cells, 399).shown, 150);
  EXPECT_EQ(cell_of(cells, 401).shown, 850);
  EXPECT_EQ(cell_of(cells, 1e18).shown, 850);
}

struct Call {
  CommType type;
  uint64_t bytes;
  const char* group = "";
  const char* in = "";
  const char* out = "";
};
trace::Trace trace_of(const std::vector<Call>& calls) {
  trace::Builder b;
  for (const Call& call : calls) {
    trace::Comm& comm = b.comm(b.add(b.trace.id.size() + 1, b.trace.strings.intern("comm"), NodeType::coll));
    comm.type = call.type, comm.bytes = call.bytes, comm.group = b.trace.strings.intern(call.group);
    comm.dtype = b.trace.strings.intern("BFloat16");
    comm.in_split = call.in, comm.out_split = call.out;
  }
  return std::move(b).finish();
}
std::vector<uint64_t> shown_sizes(const trace::Trace& t, int64_t width) {
  HiddenSizes hidden;
  const trace::Trace copy = hide_sizes(t, {}, {shipped_grid(), width, false}, hidden);
  std::vector<uint64_t> sizes;
  for (const NodeId n : copy.nodes()) sizes.push_back(copy.comm(n)->bytes);
  return sizes;
}

constexpr uint64_t kMiB = 1 << 20;

TEST(HideSizes, ScalesByWhatASizeMeasures) {
  // 5120 is shown as 4096: activations by 0.8, layers by 0.64, other parameters by 0.8; scalars and buckets stay.
  const trace::Trace t = trace_of({{CommType::all_gather, 100 * kMiB, "tp"},
                                   {CommType::reduce_scatter, 400 * kMiB, "dp"},
                                   {CommType::reduce_scatter, 400 * kMiB, "dp"},
                                   {CommType::reduce_scatter, 160 * kMiB, "dp"},
                                   {CommType::all_reduce, 4, "dp"},
                                   {CommType::all_reduce, 5000, "tp"}});
  const std::vector<uint64_t> sizes = shown_sizes(t, 5120);
  EXPECT_NEAR(static_cast<double>(sizes[0]), 80.0 * kMiB, 80.0 * kMiB * 0.045);  // eighths of an octave
  EXPECT_EQ(sizes[1], 256 * kMiB);
  EXPECT_EQ(sizes[2], sizes[1]);
  EXPECT_EQ(sizes[3], 128 * kMiB);
  EXPECT_EQ(sizes[4], 4U);
  EXPECT_EQ(sizes[5], 32768U);
}

TEST(HideSizes, ChangesBothSidesOfUnevenExchangesAlike) {
  const trace::Trace t = trace_of({{CommType::all_to_all, 2 * 3'000'000, "ep", "[1000000, 2000000]", "[1000000, 0]"},
                                   {CommType::all_to_all, 2 * 1'000'000, "ep", "[1000000, 0]", "[2000000, 0]"}});
  HiddenSizes hidden;
  const trace::Trace copy = hide_sizes(t, {}, {shipped_grid(), 5120, false}, hidden);
  std::vector<uint64_t> in[2], out[2];
  for (const size_t n : {0, 1}) {
    ASSERT_TRUE(trace::parse_split(copy.comm(NodeId(n))->in_split, in[n]));
    ASSERT_TRUE(trace::parse_split(copy.comm(NodeId(n))->out_split, out[n]));
    EXPECT_EQ(copy.comm(NodeId(n))->bytes, 2 * (in[n][0] + in[n][1]));
  }
  EXPECT_EQ(in[0][0], out[0][0]);
  EXPECT_EQ(in[0][1], out[1][0]);
  EXPECT_EQ(in[1][0], out[0][0]);
  EXPECT_EQ(in[1][1], 0U);
  EXPECT_NE(in[0][1], 2'000'000U);
}

TEST(HideSizes, KeepsPartsOfBuffersEqual) {
  Prng random(3);
  for (int round = 0; round < 500; ++round) {
    const uint64_t members = random.between(2, 12), part = random.between(1, 1 << 20);
    trace::Trace t = trace_of({{CommType::reduce_scatter, members * part, "tp"}, {CommType::all_gather, part, "tp"}});
    const std::span<trace::Comm> comms = t.comms.edit();
    comms[0].in_bytes = comms[1].out_bytes = members * part;
    comms[0].out_bytes = comms[1].in_bytes = part;
    HiddenSizes hidden;
    const trace::Trace copy = hide_sizes(t, {}, {shipped_grid(), 4096, false}, hidden);
    const trace::Comm &scatter = copy.comms[0], &gather = copy.comms[1];
    EXPECT_EQ(scatter.out_bytes * members, scatter.bytes) << members << ' ' << part;
    EXPECT_EQ(scatter.in_bytes, scatter.bytes);
    EXPECT_EQ(gather.out_bytes, gather.bytes * members);
    EXPECT_EQ(gather.in_bytes, gather.bytes);
  }
}

TEST(HideSizes, RemovesWorkOfNodesWithADuration) {
  trace::Builder b;
  for (uint64_t id = 1; id <= 2; ++id) b.add(id, b.trace.strings.intern("matmul"), NodeType::comp);
  b.trace.num_ops.resize(2), b.trace.tensor_bytes.resize(2);
  for (size_t n = 0; n < 2; ++n) b.trace.num_ops.edit(n) = 1'000'000, b.trace.tensor_bytes.edit(n) = 1'000'000;
  b.trace.flags.edit(0) |= trace::kHasDuration;
  b.trace.dur_ps.edit(0) = 1000;
  HiddenSizes hidden;
  const trace::Trace copy = hide_sizes(std::move(b).finish(), {}, {shipped_grid(), 4096, false}, hidden);
  EXPECT_EQ(copy.num_ops[0], 0U);
  EXPECT_EQ(copy.tensor_bytes[0], 0U);
  EXPECT_EQ(copy.dur_ps[0], 1000);
  EXPECT_NE(copy.num_ops[1], 1'000'000U);
  EXPECT_NEAR(static_cast<double>(copy.num_ops[1]), 1e6, 0.2e6);
  EXPECT_EQ(hidden.works, 1);
  EXPECT_EQ(hidden.kept_works, 1);
}

}  // namespace
}  // namespace chakra::edit
