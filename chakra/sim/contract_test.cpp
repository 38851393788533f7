// Traffic stops where a collective does not fit who is to carry it out.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/sim/traffic.h"

namespace chakra::sim {
namespace {

using chakra::testing::literal;

TEST(Contract, OfTraffic) {
  const net::Fabric fabric{{{net::TopologyKind::ring, 4, 50, 500}}};
  const std::vector<int64_t> ranks{0, 1, 2, 3}, few{0, 1, 2};
  const coll::Place place{&fabric, ranks, 0};
  const coll::Plan plan = coll::find_algorithm("ring")->plan({trace::CommType::all_reduce, 1024, 0, {}}, place);
  const std::vector<uint32_t> order{1, 0};
  Traffic traffic(fabric, Congestion::fluid, {});
  std::vector<Traffic::Done> done;
  EXPECT_DEATH(traffic.begin(0, 0, 0, done), literal("id < runs_.size() && runs_[id]"));
  EXPECT_DEATH(traffic.add(0, plan, {}, few, 0), literal("ranks.size() == n"));
  EXPECT_DEATH(traffic.add(0, plan, order, ranks, 0), literal("order.empty() || order.size() == n"));
  traffic.add(0, plan, {}, ranks, 0);
  EXPECT_DEATH(traffic.begin(0, 0, 4, done), literal("member < run.ranks.size()"));
  EXPECT_DEATH(traffic.begin(0, 1, 0, done), literal("id < runs_.size() && runs_[id]"));
  EXPECT_DEATH(Traffic(fabric, Congestion::closed, {}), literal("congestion != Congestion::closed"));
}

}  // namespace
}  // namespace chakra::sim
