// Valiant routing: what is expected over all intermediates, what messages take, and what it is for.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/net/graph.h"
#include "chakra/net/net.h"
#include "chakra/net/testing/fabrics.h"
#include "chakra/net/testing/rounds.h"

namespace chakra::net {
namespace {

using testing::everybody;
using testing::must_parse;
using testing::Round;
using testing::round_time;
using testing::shift;
using testing::tag_of;

Fabric with(Fabric fabric, std::string_view routing) {
  fabric.routing = *parse_routing(routing);
  return fabric;
}

std::string dragonfly(int64_t routers, int64_t ranks, int64_t global, int64_t groups) {
  return fmt::format(
      "topology: Dragonfly\nranks_per_router: {}\nrouters: {}\nglobal: {}\ngroups: {}\nbandwidth: 50\nlatency: 500\n",
      ranks, routers, global, groups);
}
std::string fat_tree(std::string_view down, std::string_view up) {
  return fmt::format("topology: FatTree\ndown: [{}]\nup: [{}]\nbandwidth: 50\nlatency: 500\n", down, up);
}

template <class Network>
double last_arrival(const Fabric& fabric, const Round& round, uint64_t bytes) {
  Network network(fabric);
  for (const auto& [from, to] : round) network.send(0, {from, to, bytes});
  std::vector<Delivery> done;
  while (network.next_event_time() != kNever) network.advance_to(kNever, done);
  EXPECT_EQ(done.size(), round.size());
  Picoseconds last = 0;
  for (const Delivery& d : done) last = std::max(last, d.arrived_ps);
  return static_cast<double>(last);
}

/// By link: the mean over all switches with ranks of the way there and on, each leg spread.
std::map<LinkId, double> over_all(const Fabric& fabric, int64_t from, int64_t to,
                                  const std::vector<uint32_t>& middles) {
  std::map<LinkId, double> shares;
  std::vector<Use> uses;
  for (const uint32_t middle : middles) {
    uses.clear();
    fabric.graph->by_link->uses(from, middle, uses);
    fabric.graph->by_link->uses(middle, to, uses);
    for (const Use& use : uses) shares[use.trunk] += use.share / static_cast<double>(middles.size());
  }
  return shares;
}

TEST(Valiant, ExpectsTheMeanOverAllIntermediates) {
  for (const std::string& text :
       {dragonfly(3, 2, 1, 4), dragonfly(2, 1, 2, 3), fat_tree("2, 3", "1, 4"), fat_tree("2, 2, 2", "1, 2, 2")}) {
    const Fabric fabric = with(must_parse(text), "valiant");
    const auto switch_of = [&](int64_t rank) { return fabric.link(static_cast<LinkId>(2 * rank)).to; };
    std::set<uint32_t> all;
    for (int64_t r = 0; r < fabric.size(); ++r) all.insert(switch_of(r));
    for (const auto& [from, to] : everybody(fabric.size())) {
      std::vector<uint32_t> middles;
      const std::vector<uint32_t>& groups = fabric.graph->groups;
      const uint32_t a = switch_of(from), b = switch_of(to);
      for (const uint32_t s : all)
        if (groups.empty() || groups[a] != groups[b] || groups[s] == groups[a]) middles.push_back(s);
      if (a == b) middles = {a};
      const auto expected = over_all(fabric, from, to, middles);
      std::map<LinkId, double> shares;
      std::vector<Use> uses;
      fabric.uses(from, to, 0, uses);
      std::set<TrunkId> once;
      for (const Use& use : uses) {
        EXPECT_TRUE(once.insert(use.trunk).second);
        std::vector<LinkId> links;
        fabric.links_of(use.trunk, links);
        for (const LinkId id : links) shares[id] += use.share / static_cast<double>(links.size());
      }
      ASSERT_EQ(shares.size(), expected.size()) << text << from << " to " << to;
      for (const auto& [id, share] : expected) ASSERT_NEAR(shares[id], share, 1e-12) << text << from << " to " << to;
      // What messages take is that on average.
      Ways ways;
      Fabric hashed = fabric;
      hashed.routing.channels = kMostChannels;
      hashed.ways(from, to, 0, 1, 0, {}, ways);
      std::map<LinkId, double> taken;
      for (size_t p = 0; p < ways.parts(); ++p) {
        auto at = static_cast<uint32_t>(from);
        for (uint32_t k = ways.first[p]; k < ways.first[p + 1]; ++k) {
          ASSERT_EQ(fabric.link(ways.links[k]).from, at);
          at = fabric.link(ways.links[k]).to;
          taken[ways.links[k]] += ways.share(p);
        }
        ASSERT_EQ(at, to);
      }
      for (const auto& [id, share] : taken) EXPECT_NEAR(share, shares[id], 0.2);
    }
  }
}

/// What it is for: each rank of a group sends to the next group, over one cable by minimal routes. Without a pattern it
/// takes twice as long.
TEST(Valiant, CarriesWhatMinimalRoutesCannot) {
  const Fabric minimal = must_parse(dragonfly(8, 4, 4, 33)), valiant = with(minimal, "valiant");
  const Round adversarial = shift(minimal.size(), 32);
  const double one = 1 / minimal.link(0).bytes_per_s;
  EXPECT_NEAR(round_time(minimal, adversarial), 32 * one, 1e-6 * one);
  // A group's 32 ranks load its 32 cables twice, and those that stay pass none: 2 x 32 / 33.
  EXPECT_NEAR(round_time(valiant, adversarial), 2.0 * 32 / 33 * one, 0.15 * one);
  const Fabric small = must_parse(dragonfly(4, 2, 2, 9));
  const double ratio = round_time(with(small, "valiant"), everybody(72)) / round_time(small, everybody(72));
  EXPECT_GT(ratio, 1.6);
  EXPECT_LT(ratio, 2.2);
  // In the other modes each message has 16 separate intermediates.
  const Fabric hashed = with(small, "valiant,channels=16,seed=1");
  const Round next = shift(72, 8);
  const uint64_t bytes = 8 << 20;
  EXPECT_LT(last_arrival<FluidNetwork>(hashed, next, bytes), 0.5 * last_arrival<FluidNetwork>(small, next, bytes));
  EXPECT_LT(last_arrival<PacketNetwork>(hashed, next, bytes), 0.5 * last_arrival<PacketNetwork>(small, next, bytes));
}

TEST(Valiant, TakesTheShortestWaysWhereNoSwitchLeadsOn) {
  // Rails without spines: ranks pass on what changes the rail.
  const Fabric rails = must_parse(
      "topology: Rails\nranks_per_node: 3\nnodes: 2\npods: 1\nspines: 0\nbandwidth: 50\nlatency: 0\nrouting: "
      "valiant\n");
  const Fabric star =
      must_parse("topology: FatTree\ndown: [4]\nup: [1]\nbandwidth: 50\nlatency: 0\nrouting: valiant\n");
  for (const Fabric& fabric : {rails, star})
    for (const auto& [from, to] : everybody(fabric.size())) {
      std::vector<Use> uses, shortest;
      fabric.uses(from, to, 0, uses);
      fabric.graph->by_trunk->uses(from, to, shortest);
      ASSERT_EQ(uses.size(), shortest.size());
      Ways ways;
      fabric.ways(from, to, 0, 1, 0, {}, ways);
      EXPECT_EQ(ways.links.size(), fabric.path(from, to).links);
    }
}

/// On any graph, with links of one direction and ranks that pass messages on: what is expected is a flow from one rank
/// to the other, and what messages take is a way.
TEST(Valiant, IsAFlowOnAnyGraph) {
  Prng random(31);
  int detours = 0;
  for (int i = 0; i < 150; ++i) {
    Fabric fabric = testing::random_graph(random, true);
    fabric.routing = *parse_routing("valiant,channels=3");
    if (!check_routing(fabric)) continue;
    for (const auto& [from, to] : everybody(fabric.size())) {
      std::map<uint32_t, double> left;  // by class of devices: what leaves it beyond what comes
      std::vector<Use> uses;
      fabric.uses(from, to, 0, uses);
      for (const Use& use : uses) {
        const Hop& hop = fabric.graph->trunks.hops[use.trunk];
        left[hop.from] += use.share;
        left[hop.to] -= use.share;
      }
      for (const auto& [device, more] : left)
        ASSERT_NEAR(more, device == from ? 1 : device == to ? -1 : 0, 1e-9) << i << ": " << from << " to " << to;
      Ways ways;
      fabric.ways(from, to, 0, 1, 0, {}, ways);
      ASSERT_EQ(ways.parts(), 3u);
      for (size_t p = 0; p < 3; ++p) {
        auto at = static_cast<uint32_t>(from);
        for (uint32_t k = ways.first[p]; k < ways.first[p + 1]; ++k) {
          ASSERT_EQ(fabric.link(ways.links[k]).from, at);
          at = fabric.link(ways.links[k]).to;
        }
        ASSERT_EQ(at, to);
        detours += ways.first[p + 1] - ways.first[p] > fabric.path(from, to).links;
      }
    }
  }
  EXPECT_GT(detours, 100);
}

/// Rank 2 hangs on rank 1 alone, which passes its messages on.
TEST(Valiant, RanksThatHangOnRanksAreReachedMinimally) {
  const Fabric fabric = must_parse(
      "ranks: 3\nswitches: 1\nrouting: valiant\nlinks:\n- {from: 0, to: 3, bandwidth: 50, latency: 5}\n"
      "- {from: 1, to: 3, bandwidth: 50, latency: 5}\n- {from: 2, to: 1, bandwidth: 50, latency: 5}\n");
  for (const auto& [from, to] : everybody(3)) {
    std::vector<Use> uses;
    fabric.uses(from, to, 0, uses);
    EXPECT_EQ(uses.size(), fabric.path(from, to).links) << from << " to " << to;
    Ways ways;
    fabric.ways(from, to, 0, 1, 0, {}, ways);
    EXPECT_EQ(ways.links.size(), fabric.path(from, to).links);
  }
}

TEST(Valiant, NeedsSwitches) {
  EXPECT_EQ(tag_of("topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [5]\nrouting: valiant\n"),
            "net.routing");
  EXPECT_EQ(tag_of("ranks: 2\nlinks:\n- {from: 0, to: 1, bandwidth: 50, latency: 5}\nrouting: valiant\n"),
            "net.routing");
  EXPECT_EQ(must_parse(dragonfly(2, 1, 1, 3) + "routing: valiant\nchannels: 3\nseed: 5\n").routing.channels, 3u);
}

}  // namespace
}  // namespace chakra::net
