// Traffic stops where a collective does not fit its ranks, folding where the class or a slot of a rank does not exist.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/sim/fold.h"
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
  EXPECT_DEATH(traffic.begin(0, 0, 4, done), literal("member < run.members"));
  EXPECT_DEATH(traffic.begin(0, 1, 0, done), literal("id < runs_.size() && runs_[id]"));
  EXPECT_DEATH(Traffic(fabric, Congestion::closed, {}),
               literal("congestion == Congestion::fluid || congestion == Congestion::packet"));
}

TEST(Contract, OfFolding) {
  const net::Fabric fabric{{{net::TopologyKind::ring, 4, 50, 500}}};
  const coll::Selection selection;
  const auto folded = [&](void (*plant)(trace::ClassJob & job)) {
    trace::TraceSet ranks;
    for (int64_t rank = 0; rank < 2; ++rank) {
      trace::Builder b;
      b.trace.rank = rank;
      b.add(1, 0, trace::NodeType::comp);
      ranks.ranks.push_back(std::move(b).finish());
    }
    trace::ClassJob job = trace::by_class(std::move(ranks));
    plant(job);
    Prices prices(fabric, selection, false);
    return fold(std::move(job), {}, {}, {}, prices, fabric, {})->actors.ranks.size();
  };
  EXPECT_EQ(folded([](trace::ClassJob&) {}), 1u);
  EXPECT_DEATH(folded([](trace::ClassJob& job) { job.group_slots.clear(); }), literal("job.group_slots.size() =="));
  EXPECT_DEATH(folded([](trace::ClassJob& job) { job.peer_slots.push_back(0); }), literal("job.peer_slots.size() =="));
  EXPECT_DEATH(folded([](trace::ClassJob& job) { job.ranks[1].rank = 0; }), literal("r.rank > before"));
  EXPECT_DEATH(folded([](trace::ClassJob& job) { job.ranks[1].cls = 1; }), literal("r.cls < job.classes.size()"));
  EXPECT_DEATH(folded([](trace::ClassJob& job) { job.group_slots[0].emplace_back("g"); }),
               literal("r.first_group + job.group_slots[r.cls].size() <= job.group_of.size()"));
  EXPECT_DEATH(folded([](trace::ClassJob& job) { job.peer_slots[0] = 1; }), literal("<= job.peer_of.size()"));
}

}  // namespace
}  // namespace chakra::sim
