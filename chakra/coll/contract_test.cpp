// Plans that cannot be made or do not fit their place are stopped by the contract that names why.
#include <gtest/gtest.h>

#include <numeric>

#include "chakra/base/testing/testing.h"
#include "chakra/coll/closed.h"
#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

using chakra::testing::literal;
using trace::CommType;

class Contract : public ::testing::Test {
 protected:
  Contract() { std::iota(ranks_.begin(), ranks_.end(), 0); }

  net::Fabric fabric_{{{net::TopologyKind::ring, 8, 50, 500}}};
  std::vector<int64_t> ranks_ = std::vector<int64_t>(8);
  Place place_{&fabric_, ranks_, 0};
  Operation all_reduce_{CommType::all_reduce, 1 << 20, 0, {}};
  const AlgorithmRow& ring_ = *find_algorithm("ring");
};

TEST_F(Contract, OfMakingPlans) {
  EXPECT_DEATH((void)ring_.plan({CommType::unknown, 8, 0, {}}, place_), literal("can(op, place)"));
  EXPECT_DEATH((void)ring_.plan({CommType::barrier, 0, 0, {}}, place_), literal("can(op, place)"));
  EXPECT_DEATH((void)find_algorithm("hierarchical")->plan(all_reduce_, place_), literal("can(op, place)"));
  const std::vector<uint64_t> splits(64, 8);
  EXPECT_DEATH((void)ring_.plan({CommType::all_reduce, 8, 0, splits}, place_), literal("can(op, place)"));
  EXPECT_DEATH((void)find_algorithm("linear")->plan({CommType::gather, 8, 8, {}}, place_),
               literal("op.root < place.members()"));
  EXPECT_DEATH((void)ring_.moves(all_reduce_, place_, 14), literal("k < o.rounds"));
  EXPECT_DEATH((void)choose({}, {CommType::unknown, 8, 0, {}}, place_), literal("op.type != CommType::unknown"));
}

TEST_F(Contract, OfPlans) {
  const Plan plan = ring_.plan(all_reduce_, place_);
  assert_whole(plan);
  Plan lane = plan, after = plan;
  lane.rounds[1].lane = plan.lanes;
  after.rounds[1].after = 1;
  EXPECT_DEATH(assert_whole(lane), literal("round.lane < plan.lanes"));
  EXPECT_DEATH(assert_whole(after), literal("round.after < static_cast<int64_t>(k)"));
#ifdef CHAKRA_SLOW_ASSERTIONS
  for (const Transfer& wrong : {Transfer{8, 0, 1}, Transfer{0, 8, 1}, Transfer{3, 3, 1}}) {
    Plan list = plan;
    list.rounds[0].list = {wrong};
    EXPECT_DEATH(assert_whole(list), literal("t.from < plan.members && t.to < plan.members && t.from != t.to"));
  }
#endif
}

TEST_F(Contract, OfPrices) {
  const Plan plan = ring_.plan(all_reduce_, place_);
  const std::vector<int64_t> few(ranks_.begin(), ranks_.begin() + 4);
  EXPECT_DEATH((void)price(plan, {&fabric_, few, 0}), literal("plan.members == place.members()"));
  const PricedPlan priced = price(plan, place_);
  std::vector<Picoseconds> ready(7, 0);
  EXPECT_DEATH(run_closed(priced, ready), literal("ready.size() == plan.plan->members"));
  EXPECT_DEATH((void)ends_after(priced, ready), literal("ready.size() == plan.plan->members"));
}

}  // namespace
}  // namespace chakra::coll
