// What plans put on links, by hand.
#include "chakra/sim/link_loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace chakra::sim {
namespace {

using trace::CommType;

constexpr uint64_t kMiB = 1 << 20;

std::vector<int64_t> first_ranks(int64_t n) {
  std::vector<int64_t> ranks(static_cast<size_t>(n));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  return ranks;
}

/// Seconds of the plan alone.
double seconds(const coll::Plan& plan, const coll::Place& place) {
  std::vector<Picoseconds> ends(plan.members, 0);
  coll::run_closed(plan, place, ends);
  return static_cast<double>(*std::max_element(ends.begin(), ends.end())) / kPsPerSecond;
}

std::vector<LinkLoads::Place> places_of(const net::Fabric& fabric, const char* algorithm, const coll::Operation& op,
                                        const std::vector<std::vector<int64_t>>& groups, uint64_t most) {
  const coll::Place place{&fabric, groups[0]};
  const coll::Plan plan = coll::find_algorithm(algorithm)->plan(op, place);
  LinkLoads loads(fabric, most);
  loads.add(3, plan, {}, groups, groups.size(), 0, seconds(plan, place));
  return loads.places();
}

TEST(LinkLoads, ARingKeepsItsLinksBusyAllTheTime) {
  const net::Fabric fabric{{{net::TopologyKind::ring, 4, 50, 0}}};
  const auto places = places_of(fabric, "ring", {CommType::all_reduce, kMiB, 0, {}}, {first_ranks(4)}, 1000);
  ASSERT_EQ(places.size(), 4u);  // one way round
  for (const LinkLoads::Place& place : places) {
    ASSERT_EQ(place.loads.size(), 1u);
    EXPECT_EQ(place.loads[0].timeline, 3u);
    EXPECT_NEAR(place.loads[0].mean, 1, 1e-3);
    EXPECT_NEAR(place.loads[0].peak, 1, 1e-3);
  }
}

TEST(LinkLoads, ALinkThatSomeRoundsUseHasAPeakAboveItsMean) {
  // Halving and doubling of four ranks: some rounds are in the first dimension, the others in the second.
  const net::Fabric fabric{{{net::TopologyKind::switch_, 2, 100, 0}, {net::TopologyKind::switch_, 2, 50, 0}}};
  const auto places =
      places_of(fabric, "halving_doubling", {CommType::all_reduce, kMiB, 0, {}}, {first_ranks(4)}, 1000);
  ASSERT_EQ(places.size(), 16u);  // a link to and from the switch of each dimension, for each rank
  double of_dimension[2] = {0, 0};
  for (const LinkLoads::Place& place : places) {
    EXPECT_NEAR(place.loads[0].peak, 1, 1e-3);
    EXPECT_LT(place.loads[0].mean, 0.9);
    of_dimension[place.kind] = place.loads[0].mean;
  }
  EXPECT_NEAR(of_dimension[0] + of_dimension[1], 1, 1e-3);
}

TEST(LinkLoads, GroupsOfOneTimelineAddUp) {
  const net::Fabric fabric{{{net::TopologyKind::ring, 4, 50, 0}}};
  const auto places = places_of(fabric, "ring", {CommType::all_reduce, kMiB, 0, {}},
                                {first_ranks(4), first_ranks(4), first_ranks(4)}, 1000);
  for (const LinkLoads::Place& place : places) {
    EXPECT_NEAR(place.loads[0].mean, 3, 1e-2);
    EXPECT_NEAR(place.loads[0].peak, 3, 1e-2);
  }
}

TEST(LinkLoads, ALargeAllToAllIsSampledEvenly) {
  // A million transfers, of which some thousands are looked at: each rank still sends and receives all the time.
  const net::Fabric fabric{{{net::TopologyKind::switch_, 1024, 50, 0}}};
  const auto places =
      places_of(fabric, "direct", {CommType::all_to_all, 64 * kMiB, 0, {}}, {first_ranks(1024)}, 1 << 15);
  ASSERT_EQ(places.size(), 2048u);
  for (const LinkLoads::Place& place : places) EXPECT_NEAR(place.loads[0].mean, 1, 0.02);
}

TEST(LinkLoads, OfManyGroupsTheFirstAreWhole) {
  // 512 nodes of 8: a few of the groups are looked at, and beside them stands the mean of all links.
  const net::Fabric fabric{{{net::TopologyKind::switch_, 8, 400, 0}, {net::TopologyKind::switch_, 512, 50, 0}}};
  std::vector<std::vector<int64_t>> groups(512);
  for (int64_t node = 0; node < 512; ++node)
    for (int64_t i = 0; i < 8; ++i) groups[static_cast<size_t>(node)].push_back(node * 8 + i);
  const auto places = places_of(fabric, "ring", {CommType::all_reduce, kMiB, 0, {}}, groups, 1 << 10);
  EXPECT_LT(places.size(), 8192u);
  size_t means = 0;
  for (const LinkLoads::Place& place : places) {
    means += place.trunk == net::kNoLink;
    EXPECT_NEAR(place.loads[0].mean, 1, 1e-2);
  }
  EXPECT_EQ(means, 1u);
}

}  // namespace
}  // namespace chakra::sim
