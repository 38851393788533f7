#include "chakra/feed/feed.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace chakra::feed {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::Trace;

Trace random_trace(Prng& random, uint32_t nodes) {
  Builder b;
  for (const NodeId n : ids<NodeId>(nodes)) b.add(n, 0, trace::NodeType::comp);
  for (NodeId n{1}; n < nodes; ++n) {
    for (uint64_t edges = random.below(4); edges > 0; --edges)
      b.dep(n, NodeId(random.below(n)), 0, static_cast<Picoseconds>(random.below(50)));
    b.ctrl(n, NodeId(random.below(n)));
  }
  return std::move(b).finish();
}

TEST(Feeder, HandsOutEachNodeOnceAndNotTooEarly) {
  Prng random(1);
  for (const bool control : {false, true})
    for (int round = 0; round < 100; ++round) {
      const Trace t = random_trace(random, static_cast<uint32_t>(1 + random.below(80)));
      Graphs graphs;
      const Trace copy = t;
      const Feeder other(copy, control, &graphs);
      Feeder feeder(t, control, &graphs);
      EXPECT_EQ(graphs.size(), 1u);
      std::vector<Ready> ready;
      feeder.start(ready);
      std::vector<Picoseconds> end(t.size(), -1);
      size_t done = 0;
      while (!ready.empty()) {
        const size_t pick = random.below(ready.size());
        const Ready next = ready[pick];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
        ASSERT_EQ(end[next.node], -1) << "twice";
        Picoseconds earliest = 0;
        for (uint32_t e = t.deps.begin[next.node]; e < t.deps.begin[next.node + 1]; ++e) {
          ASSERT_GE(end[t.deps.node[e]], 0) << "before its dependency";
          earliest = std::max(earliest, end[t.deps.node[e]] + t.deps.lag_of(e));
        }
        for (const NodeId caller : t.ctrl.of(next.node))
          if (control) {
            ASSERT_GE(end[caller], 0) << "before its caller";
            earliest = std::max(earliest, end[caller]);
          }
        EXPECT_EQ(next.time, earliest);
        end[next.node] = next.time + static_cast<Picoseconds>(random.below(100));
        feeder.done(next.node, end[next.node], ready);
        ++done;
      }
      EXPECT_EQ(done, t.size());
      EXPECT_EQ(feeder.remaining(), 0u);
    }
}

TEST(Feeder, StopsAtACycle) {
  Builder b;
  for (const NodeId n : ids<NodeId>(4)) b.add(n, 0, trace::NodeType::comp);
  b.dep(NodeId(1), NodeId(2), 0);
  b.dep(NodeId(2), NodeId(1), 0);
  b.dep(NodeId(3), NodeId(2), 0);
  const Trace t = std::move(b).finish();
  Feeder feeder(t);
  std::vector<Ready> ready;
  feeder.start(ready);
  ASSERT_EQ(ready.size(), 1u);
  ready.clear();
  feeder.done(NodeId(0), 5, ready);
  EXPECT_TRUE(ready.empty());
  EXPECT_EQ(feeder.remaining(), 3u);
  EXPECT_TRUE(feeder.is_done(NodeId(0)));
  EXPECT_FALSE(feeder.is_ready(NodeId(1)));
}

}  // namespace
}  // namespace chakra::feed
