// Layers that a copy does not show: what stays of the structure, the times and the dependencies of a trace.
#include "chakra/edit/layers.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "chakra/base/testing/testing.h"
#include "chakra/edit/runs.h"
#include "chakra/trace/testing/random_job.h"

namespace chakra::edit {
namespace {

using chakra::testing::tag_of;
using trace::CommType;
using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

LayerHiding hiding_of(int64_t layers, double low, double shown) {
  return {{low, low + 20, shown}, layers, 1, layers, true};
}

/// A recording: a thread that launches kernels and collectives, layer by layer, forward and backward.
class Recording {
 public:
  explicit Recording(int layers) {
    Trace& t = builder_.trace;
    thread_ = builder_.lane({trace::Lane::Kind::thread, 1, 1});
    stream_ = builder_.lane({trace::Lane::Kind::stream, 0, 7});
    comms_ = builder_.lane({trace::Lane::Kind::stream, 0, 9});
    call("aten::embedding");
    std::vector<NodeId> saved;
    for (int i = 0; i < layers; ++i) {
      call("aten::layer_norm");
      saved.push_back(call("aten::linear"));
      call("aten::gelu");
      if (i % 3 == 0) call("cudaEventQuery");  // at other places in each layer
      gather(i);
    }
    call("aten::cross_entropy");
    for (int i = layers - 1; i >= 0; --i) {
      call("GeluBackward");
      builder_.dep(call("LinearBackward"), saved[static_cast<size_t>(i)], static_cast<uint8_t>(EdgeKind::data));
      call("LayerNormBackward");
      call("AccumulateGrad");
    }
    call("optimizer");
    t.metadata.clear();
  }
  Trace finish() && { return std::move(builder_).finish(); }

 private:
  NodeId add(std::string_view name, NodeType type, uint32_t lane, Picoseconds& at, Picoseconds takes) {
    Trace& t = builder_.trace;
    const NodeId n = builder_.add(++id_, t.strings.intern(std::string(name)), type);
    t.lane.edit(n) = lane;
    t.start_ps.edit(n) = at;
    t.dur_ps.edit(n) = takes;
    t.flags.edit(n) = trace::kHasStart | trace::kHasDuration;
    at += takes;
    return n;
  }
  NodeId call(std::string_view name) {
    const NodeId host = add(name, NodeType::comp, thread_, host_at_, 1000);
    if (last_host_ != kNoNode) builder_.dep(host, last_host_, static_cast<uint8_t>(EdgeKind::program));
    last_host_ = host;
    builder_.trace.flags.edit(host) |= trace::kOnCpu;
    device_at_ = std::max(device_at_, host_at_);
    const NodeId kernel = add(fmt::format("kernel_{}", name), NodeType::comp, stream_, device_at_, 1500);
    builder_.dep(kernel, host, static_cast<uint8_t>(EdgeKind::launch));
    if (last_kernel_ != kNoNode) builder_.dep(kernel, last_kernel_, static_cast<uint8_t>(EdgeKind::stream));
    return last_kernel_ = kernel, host;
  }
  void gather(int sequence) {
    Picoseconds at = device_at_;
    const NodeId n = add("nccl:all_gather", NodeType::coll, comms_, at, 500);
    trace::Comm& comm = builder_.comm(n);
    comm.type = CommType::all_gather, comm.bytes = 1 << 20, comm.sequence = 10 + sequence;
    comm.group = builder_.trace.strings.intern("dp");
    builder_.dep(n, last_host_, static_cast<uint8_t>(EdgeKind::launch));
  }

  trace::Builder builder_;
  uint64_t id_ = 0;
  uint32_t thread_ = 0, stream_ = 0, comms_ = 0;
  Picoseconds host_at_ = 0, device_at_ = 0;
  NodeId last_host_ = kNoNode, last_kernel_ = kNoNode;
};

/// What a reader counts: names and kinds of communications.
std::map<std::string, int64_t> counts_of(const Trace& t) {
  std::map<std::string, int64_t> counts;
  for (const NodeId n : t.nodes())
    if (t.name_of(n).find("cudaEventQuery") == std::string_view::npos) ++counts[std::string(t.name_of(n))];
  return counts;
}

Picoseconds end_of(const Trace& t) {
  Picoseconds end = 0;
  for (const NodeId n : t.nodes()) end = std::max(end, t.start_ps[n] + t.dur_ps[n]);
  return end;
}

TEST(Layers, OfARecordingAreThoseOfTheCell) {
  const Trace least = Recording(12).finish();
  for (const int layers : {12, 13, 16, 22}) {
    const Trace t = Recording(layers).finish();
    EXPECT_EQ(layers_of(t), layers);
    HiddenLayers hidden;
    const auto made = hide_layers(t, hiding_of(layers, 12, 16), hidden);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(hidden.before, layers);
    EXPECT_EQ(hidden.after, 12);
    EXPECT_EQ(counts_of(*made), counts_of(least)) << layers;
    EXPECT_EQ(std::accumulate(hidden.grows.begin(), hidden.grows.end(), 0), 12);
    EXPECT_NEAR(static_cast<double>(end_of(*made)), static_cast<double>(end_of(t)), 10);
  }
}

TEST(Layers, LeaveTheirTimesAndDependencies) {
  const Trace t = Recording(16).finish();
  HiddenLayers hidden;
  const Trace made = hide_layers(t, hiding_of(16, 12, 16), hidden).value();
  std::vector<int64_t> sequences;
  for (const NodeId n : made.nodes())
    if (made.comm(n)) sequences.push_back(made.comm(n)->sequence);
  std::vector<int64_t> up(12);
  std::iota(up.begin(), up.end(), 10);
  EXPECT_EQ(sequences, up);
  std::map<uint32_t, Picoseconds> ends, busy, busy_before;
  for (const NodeId n : t.nodes()) busy_before[t.lane[n]] += t.dur_ps[n];
  for (const NodeId n : made.nodes()) {
    EXPECT_GE(made.start_ps[n] + 2, ends[made.lane[n]]) << "operations of a lane do not overlap";
    ends[made.lane[n]] = made.start_ps[n] + made.dur_ps[n];
    busy[made.lane[n]] += made.dur_ps[n];
    for (const NodeId on : made.deps.of(n)) EXPECT_LE(made.start_ps[on], made.start_ps[n]);
  }
  for (const auto& [lane, time] : busy_before)
    EXPECT_NEAR(static_cast<double>(busy[lane]), static_cast<double>(time), 0.02 * static_cast<double>(time)) << lane;
  int64_t saved = 0;  // each LinearBackward waits for the linear of its layer
  for (const NodeId n : made.nodes())
    for (const NodeId on : made.deps.of(n))
      saved += made.name_of(n) == "LinearBackward" && made.name_of(on) == "aten::linear";
  EXPECT_EQ(saved, 12);
  for (const NodeId n : made.nodes())
    if (made.on_cpu(n) && n != NodeId(0)) EXPECT_GE(made.deps.of(n).size(), 1U) << made.name_of(n);
}

TEST(Layers, AreNotMicroBatches) {
  // Four micro-batches of six layers: the layers are inside.
  std::vector<uint32_t> values;
  for (uint32_t batch = 0; batch < 4; ++batch) {
    values.push_back(100);
    for (uint32_t layer = 0; layer < 6; ++layer)
      for (const uint32_t op : {1, 2, 2, 2, 3, 4}) values.push_back(op);
    values.push_back(200);
  }
  const std::vector<std::vector<uint32_t>> lanes{values};
  const LayerRuns found = find_layers(lanes);
  EXPECT_EQ(found.layers, 6U);
  ASSERT_EQ(found.runs.size(), 4U);
  for (const edit::Run& run : found.runs) EXPECT_EQ(run.period, 6U);
  values.clear();  // a run of seven short parts beside many of five layers
  for (uint32_t batch = 0; batch < 8; ++batch) {
    values.push_back(100 + batch);
    for (uint32_t layer = 0; layer < 5; ++layer)
      for (const uint32_t op : {1, 2, 2, 2, 3, 4}) values.push_back(op);
  }
  for (uint32_t part = 0; part < 7; ++part)
    for (const uint32_t op : {5, 6, 7}) values.push_back(op);
  EXPECT_EQ(find_layers(std::vector<std::vector<uint32_t>>{values}).layers, 5U);
  EXPECT_EQ(find_layers(std::vector<std::vector<uint32_t>>{{1, 2, 3, 4, 5, 6, 7, 8}}).layers, 0U);
  EXPECT_EQ(find_layers(std::vector<std::vector<uint32_t>>{std::vector<uint32_t>(50, 1)}).layers, 0U);
}

TEST(Layers, HaveMessagesInRingsAlone) {
  trace::Builder builder;
  Trace& t = builder.trace;
  const auto message = [&](uint64_t id, NodeType type) {
    trace::Comm& comm = builder.comm(builder.add(id, t.strings.intern("message"), type));
    comm.src = 0, comm.dst = 1, comm.bytes = 1 << 20;
  };
  for (uint64_t id = 1; id <= 30; id += 5) {
    message(id, NodeType::recv);
    for (uint64_t op = 1; op < 4; ++op)
      builder.add(id + op, t.strings.intern(fmt::format("op{}", "abc"[op - 1])), NodeType::comp);
    message(id + 4, NodeType::send);
  }
  Trace pipeline = std::move(builder).finish();
  EXPECT_EQ(layers_of(pipeline), 0) << "micro-batches of a stage with one layer";
  pipeline.metadata.push_back({pipeline.strings.intern("cp"), int64_t{4}});
  EXPECT_EQ(layers_of(pipeline), 6);
}

TEST(Layers, TooFewAreRefused) {
  const Trace t = Recording(6).finish();
  HiddenLayers hidden;
  EXPECT_EQ(tag_of(hide_layers(t, {{6, 10, 8}, 6, 5, 6, true}, hidden)), "edit.layers.few");
}

/// Any trace gives a whole trace or an error, and ranks that agree remove the same communications.
TEST(Layers, OfRandomJobs) {
  Prng random(7);
  int changed = 0, agreed = 0;
  for (int round = 0; round < 300; ++round) {
    trace::testing::RandomJob job = trace::testing::random_job(random, 2, 4, 10);
    const size_t times = 4 + random.below(6);
    for (std::vector<trace::testing::JobNode>& rank : job.ranks) {  // equal parts, as layers are
      const std::vector<trace::testing::JobNode> part = rank;
      uint32_t next = 0;
      for (const auto& node : part) next = std::max(next, node.key + 1);
      for (size_t i = 1; i < times; ++i)
        for (trace::testing::JobNode node : part) {
          node.key += static_cast<uint32_t>(i) * next;
          for (uint32_t& on : node.deps) on += static_cast<uint32_t>(i) * next;
          node.sequence = -1;
          rank.push_back(node);
        }
    }
    trace::TraceSet set = job.build();
    for (Trace& t : set.ranks)
      if (round % 2 == 0) t.metadata.push_back({t.strings.intern("cp"), int64_t{2}});  // layers may have messages
    LayerAgreement agreement;
    bool agree = true;
    for (const Trace& t : set.ranks) {
      HiddenLayers hidden;
      const auto made = hide_layers(t, hiding_of(static_cast<int64_t>(times), 4, 5), hidden);
      if (!made) continue;
      changed += made->size() < t.size();
      EXPECT_EQ(made->size() + static_cast<uint32_t>(hidden.nodes), t.size());
      EXPECT_EQ(hidden.grows.size(), made->size());
      agree &= agreement
                   .add(
                       t.rank, hidden, [](const std::string& group) { return group; }, [](int64_t r) { return r; })
                   .has_value();
    }
    agreed += agree && agreement.finish();
  }
  EXPECT_GT(changed, 100);
  EXPECT_GT(agreed, 30);
}

}  // namespace
}  // namespace chakra::edit
