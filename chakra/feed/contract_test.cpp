// A Feeder stops where it is told what cannot be.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/feed/feed.h"

namespace chakra::feed {
namespace {

using chakra::testing::literal;

TEST(Contract, OfTheFeeder) {
  trace::Builder b;
  for (uint64_t id = 0; id < 2; ++id) b.add(id, 0, trace::NodeType::comp);
  b.dep(trace::NodeId(1), trace::NodeId(0), 0);
  const trace::Trace t = std::move(b).finish();
  std::vector<Ready> ready;
  Feeder feeder(t);
  EXPECT_DEATH(feeder.done(trace::NodeId(2), 0, ready), literal("node < missing_.size()"));
  EXPECT_DEATH(feeder.done(trace::NodeId(1), 0, ready), literal("is_ready(node)"));  // it waits
  feeder.done(trace::NodeId(0), 0, ready);
  EXPECT_DEATH(feeder.done(trace::NodeId(0), 0, ready), literal("is_ready(node)"));  // it is done
  const trace::Trace none;
  EXPECT_DEATH(Feeder{none}, literal("t.attr_begin.size() == nodes + 1"));
}

}  // namespace
}  // namespace chakra::feed
