// A collective alone over shared links: members that do the same, and links that carry the same, stand for each other.
#include "chakra/sim/alone.h"

#include <gtest/gtest.h>

#include <numeric>

namespace chakra::sim {
namespace {

using trace::CommType;

constexpr Picoseconds kRounding = 4;  ///< of times that are sums in another order

std::vector<int64_t> all_ranks(const net::Fabric& fabric) {
  std::vector<int64_t> ranks(static_cast<size_t>(fabric.size()));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  return ranks;
}
net::Fabric parse(const std::string& text) { return *net::parse_fabric(*parse_spec(text, "net.yml")); }

/// How many transfers it takes; the time is that of all members.
uint64_t cost_of(const net::Fabric& fabric, const coll::Plan& plan, const std::vector<int64_t>& ranks) {
  uint64_t most = uint64_t{1} << 20;
  const std::optional<Picoseconds> together = time_together(fabric, plan, {}, ranks, 0, most);
  EXPECT_TRUE(together);
  const Picoseconds alone = time_alone(fabric, Congestion::fluid, plan, {}, ranks, 0);
  EXPECT_NEAR(static_cast<double>(together.value_or(0)), static_cast<double>(alone), kRounding);
  return (uint64_t{1} << 20) - most;
}

TEST(Alone, EqualMembersStandForAll) {
  for (const char* text :
       {"topology: [Switch]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n",
        "topology: [Switch, Ring]\nnpus_count: [4, 4]\nbandwidth: [200, 50]\nlatency: [500, 2000]\n",
        "topology: [Torus, Torus]\nnpus_count: [4, 4]\nbandwidth: [50, 50]\nlatency: [500, 500]\n",
        "topology: [Switch]\nnpus_count: [6]\nbandwidth: [50]\nlatency: [500]\nslow_links: [{from: 3, to: 6, "
        "bandwidth: 10}]\n",
        "topology: FatTree\ndown: [4, 3]\nup: [1, 2]\nbandwidth: 50\nlatency: 500\n",
        "topology: FatTree\ndown: [4, 3]\nup: [1, 2]\nbandwidth: 50\nlatency: 500\nrouting: ecmp\n",
        "topology: Rails\nranks_per_node: 4\nnodes: 3\npods: 1\nspines: 2\nbandwidth: 50\nlatency: 500\n",
        "ranks: 6\nswitches: [a, b, s, t, u]\nlinks:\n"  // shares of 3/13, 7/13 and 3/13
        "- {from: 0, to: a, bandwidth: 50, latency: 500}\n- {from: 1, to: a, bandwidth: 50, latency: 500}\n"
        "- {from: 2, to: a, bandwidth: 50, latency: 500}\n- {from: 3, to: b, bandwidth: 50, latency: 500}\n"
        "- {from: 4, to: b, bandwidth: 50, latency: 500}\n- {from: 5, to: b, bandwidth: 50, latency: 500}\n"
        "- {from: a, to: s, bandwidth: 3, latency: 500}\n- {from: s, to: b, bandwidth: 3, latency: 500}\n"
        "- {from: a, to: t, bandwidth: 7, latency: 500}\n- {from: t, to: b, bandwidth: 7, latency: 500}\n"
        "- {from: a, to: u, bandwidth: 3, latency: 500}\n- {from: u, to: b, bandwidth: 3, latency: 500}\n"}) {
    const net::Fabric fabric = parse(text);
    const std::vector<int64_t> ranks = all_ranks(fabric);
    const coll::Place place{&fabric, ranks};
    for (const coll::AlgorithmRow& row : coll::kAlgorithms)
      for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
        const coll::Operation op{static_cast<CommType>(t), 3'000'000, 1, {}};
        if (!row.can(op, place)) continue;
        SCOPED_TRACE(std::string(row.name) + " " + text);
        cost_of(fabric, row.plan(op, place), ranks);
      }
  }
}

TEST(Alone, ManyEqualMembersCostLittle) {
  const net::Fabric fabric =
      parse("topology: [Switch, Switch]\nnpus_count: [8, 16]\nbandwidth: [450, 50]\nlatency: [500, 2000]\n");
  const std::vector<int64_t> ranks = all_ranks(fabric);
  const coll::Plan plan =
      coll::find_algorithm("hierarchical")->plan({CommType::all_reduce, 1 << 28, 0, {}}, {&fabric, ranks});
  EXPECT_GT(transfers_of(plan), 2 * kMostTransfersAlone);
  EXPECT_LT(cost_of(fabric, plan, ranks), kMostTransfersAlone / 8);
}

TEST(Alone, MoreTransfersThanAskedForAreNotSimulated) {
  const net::Fabric fabric = parse("topology: [Switch]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n");
  const std::vector<int64_t> ranks = all_ranks(fabric);
  for (const char* routing : {"spread", "adaptive"}) {
    net::Fabric with = fabric;
    if (routing == std::string("adaptive")) with.routing.kind = net::Routing::adaptive;
    const coll::Plan plan =
        coll::find_algorithm("pairwise")->plan({CommType::all_to_all, 1 << 20, 0, {}}, {&with, ranks});
    uint64_t most = 55;  // 7 rounds of 8 members
    EXPECT_FALSE(time_together(with, plan, {}, ranks, 0, most));
    EXPECT_EQ(most, 55);
    most = 56;
    EXPECT_TRUE(time_together(with, plan, {}, ranks, 0, most));
    EXPECT_EQ(most, 0);
  }
}

}  // namespace
}  // namespace chakra::sim
