// Turns map whole networks onto themselves, and routes that are found by turning are those that are found without.
#include "chakra/net/turns.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "chakra/net/change.h"
#include "chakra/net/graph.h"
#include "chakra/net/net.h"
#include "chakra/net/testing/fabrics.h"

namespace chakra::net {
namespace {

using testing::must_parse;

/// Networks of each shape, with turns of every extent from 1 on, and links of different rates.
std::vector<std::string> shapes() {
  const auto fat = [](const char* down, const char* up, const char* rates) {
    return fmt::format("topology: FatTree\ndown: {}\nup: {}\nbandwidth: {}\nlatency: 500\n", down, up, rates);
  };
  const auto dragonfly = [](int ranks, int routers, int global, int groups) {
    return fmt::format(
        "topology: Dragonfly\nranks_per_router: {}\nrouters: {}\nglobal: {}\ngroups: {}\nbandwidth: [40, 50, 30]\n"
        "latency: [100, 200, 900]\n",
        ranks, routers, global, groups);
  };
  const auto rails = [](int ranks, int nodes, int pods, int spines) {
    return fmt::format(
        "topology: Rails\nranks_per_node: {}\nnodes: {}\npods: {}\nspines: {}\nbandwidth: [450, 50, 70]\nlatency: "
        "[200, 500, 600]\n",
        ranks, nodes, pods, spines);
  };
  return {fat("[4, 3]", "[1, 2]", "50"),
          fat("[3, 4]", "[2, 3]", "[50, 20]"),
          fat("[2, 3, 4]", "[1, 2, 3]", "[50, 60, 70]"),
          fat("[1, 5]", "[1, 1]", "50"),
          fat("[6]", "[2]", "50"),
          dragonfly(2, 3, 1, 4),
          dragonfly(2, 3, 2, 6),
          dragonfly(1, 4, 2, 5),
          dragonfly(3, 2, 3, 7),
          dragonfly(4, 3, 1, 1),
          rails(4, 3, 2, 2),
          rails(2, 4, 1, 0),
          rails(3, 2, 3, 1),
          rails(1, 3, 2, 2)};
}

/// The same network without turns.
Fabric without_turns(const Fabric& fabric) {
  const Link& link = fabric.graph->links[0];
  return *with_slow_link(fabric, {link.from, link.to}, 1.0);
}

TEST(Turns, MapEachLinkToAnEqualOne) {
  for (const std::string& text : shapes()) {
    const Fabric fabric = must_parse(text);
    const Graph& graph = *fabric.graph;
    ASSERT_FALSE(graph.turns.empty()) << text;
    std::set<std::tuple<uint32_t, uint32_t, double, Picoseconds>> links;
    for (const Link& link : graph.links) links.emplace(link.from, link.to, link.bytes_per_s, link.latency_ps);
    for (size_t t = 0; t < graph.turns.count(); ++t) {
      Turns::Steps step{};
      step[t] = 1 % graph.turns.extent(t);
      std::set<uint32_t> reached;
      for (uint32_t d = 0; d < graph.names.size(); ++d) {
        const uint32_t to = graph.turns.turned(d, step, false);
        reached.insert(to);
        EXPECT_EQ(d < graph.ranks, to < graph.ranks);
        EXPECT_EQ(graph.turns.turned(to, step, true), d);
        EXPECT_EQ(graph.turns.turned(d, graph.turns.place(d), true),
                  graph.turns.turned(to, graph.turns.place(to), true))
            << text << " turn " << t << " of device " << d;
      }
      EXPECT_EQ(reached.size(), graph.names.size());
      for (const Link& link : graph.links)
        EXPECT_TRUE(links.contains({graph.turns.turned(link.from, step, false),
                                    graph.turns.turned(link.to, step, false), link.bytes_per_s, link.latency_ps}))
            << text << " turn " << t;
      // Of a free coordinate, two values may be swapped as well: that and rotations make all permutations.
      if (!graph.turns.free(t) || graph.turns.extent(t) < 2) continue;
      const auto swapped = [&](uint32_t device) {
        if (!graph.turns.moves(t, device)) return device;
        Turns::Steps to{};
        to[t] = 1;
        const uint32_t at = graph.turns.place(device)[t];
        return at > 1 ? device : graph.turns.turned(device, to, at == 1);
      };
      for (const Link& link : graph.links)
        EXPECT_TRUE(links.contains({swapped(link.from), swapped(link.to), link.bytes_per_s, link.latency_ps}))
            << text << " turn " << t;
    }
    EXPECT_LT(graph.ways(), static_cast<double>(graph.ranks * static_cast<int64_t>(graph.names.size())));
  }
}

TEST(Turns, KeepRoutes) {
  for (const std::string& text : shapes()) {
    const Fabric turned = must_parse(text), plain = without_turns(turned);
    ASSERT_TRUE(plain.graph->turns.empty());
    for (const RoutingRow& routing : kRoutings) {
      Fabric a = turned, b = plain;
      a.routing.kind = b.routing.kind = routing.kind;
      if (!check_routing(a)) continue;
      for (int64_t from = 0; from < a.size(); ++from)
        for (int64_t to = 0; to < a.size(); ++to) {
          if (from == to) continue;
          const std::string where = fmt::format("{}{} from {} to {}", text, routing.name, from, to);
          std::vector<Use> uses, of_plain;
          EXPECT_EQ(a.uses(from, to, 3, uses), b.uses(from, to, 3, of_plain)) << where;
          std::map<TrunkId, double> shares, plain_shares;
          for (const Use& use : uses) shares[use.trunk] += use.share;
          for (const Use& use : of_plain) plain_shares[use.trunk] += use.share;
          ASSERT_EQ(shares.size(), plain_shares.size()) << where;
          for (const auto& [trunk, share] : shares) EXPECT_NEAR(share, plain_shares[trunk], 1e-15) << where;
          EXPECT_EQ(a.path(from, to), b.path(from, to)) << where;
          Ways ways, of_same;
          a.ways(
              from, to, 7, 16, 5, [](LinkId id) { return id % 3; }, ways);
          b.ways(
              from, to, 7, 16, 5, [](LinkId id) { return id % 3; }, of_same);
          EXPECT_EQ(ways.links, of_same.links) << where;
        }
    }
  }
}

/// Compares the loads with those of the network without turns.
void expect_equal_loads(const Fabric& a, const Fabric& plain, const std::vector<int64_t>& ranks, size_t extent,
                        const std::string& text) {
  std::vector<double> loads(a.trunk_count(), 0), by_plain(plain.trunk_count(), 0);
  ASSERT_EQ(a.spreads_exchanges(), plain.spreads_exchanges());
  if (!a.spreads_exchanges()) return;
  a.add_exchanges(ranks, extent, loads);
  plain.add_exchanges(ranks, extent, by_plain);
  for (TrunkId t = 0; t < loads.size(); ++t) EXPECT_NEAR(loads[t], by_plain[t], 1e-12 * (1 + by_plain[t])) << text;
}

TEST(Turns, KeepTheLoadOfExchanges) {
  Prng random(11);
  for (const std::string& text : shapes()) {
    const Fabric a = must_parse(text), b = without_turns(a);
    const Turns& turns = a.graph->turns;
    for (int trial = 0; trial < 40; ++trial) {
      std::set<int64_t> members;
      if (trial % 4 == 0) {
        for (int64_t rank = 0; rank < a.size(); rank += 1 + trial / 4) members.insert(rank);
      } else {
        // Closed under some of the turns.
        for (int64_t rank = 0; rank < a.size(); ++rank)
          if (random.chance(0.2)) members.insert(rank);
        for (size_t t = 0; t < turns.count(); ++t) {
          if (random.chance(0.5)) continue;
          const std::set<int64_t> before = members;
          for (const int64_t rank : before)
            for (Turns::Steps step{}; step[t] < turns.extent(t); ++step[t])
              members.insert(turns.turned(static_cast<uint32_t>(rank), step, false));
        }
      }
      if (members.empty()) continue;
      const std::vector<int64_t> ranks(members.begin(), members.end());
      expect_equal_loads(a, b, ranks, ranks.size(), text);
    }
  }
}

/// Ranks whose coordinates are some of all, in rows along one turn or two, at times with a hole.
TEST(Turns, KeepTheLoadOfRowsOfExchanges) {
  Prng random(13);
  for (const std::string& text : shapes()) {
    const Fabric a = must_parse(text), b = without_turns(a);
    const Turns& turns = a.graph->turns;
    for (int trial = 0; trial < 60; ++trial) {
      std::vector<std::vector<char>> taken(turns.count());
      for (size_t t = 0; t < turns.count(); ++t) {
        const uint32_t extent = turns.extent(t), apart = 1 + static_cast<uint32_t>(random.below(extent));
        for (uint32_t c = 0; c < extent; ++c)
          taken[t].push_back(random.chance(0.3) ? c % apart == 0 : random.chance(0.7));
      }
      const uint64_t along = random.below(uint64_t{1} << turns.count());
      std::map<Turns::Steps, std::vector<int64_t>> rows;
      for (int64_t rank = 0; rank < a.size(); ++rank) {
        Turns::Steps place = turns.place(static_cast<uint32_t>(rank));
        bool in = true;
        for (size_t t = 0; t < turns.count(); ++t) {
          in = in && taken[t][place[t]] != 0;
          if ((along >> t & 1) != 0) place[t] = 0;
        }
        if (in) rows[place].push_back(rank);
      }
      if (rows.empty()) continue;
      const size_t extent = rows.begin()->second.size();
      std::vector<int64_t> ranks;
      for (const auto& [place, row] : rows)
        if (row.size() == extent && !random.chance(0.02)) ranks.insert(ranks.end(), row.begin(), row.end());
      if (!ranks.empty()) expect_equal_loads(a, b, ranks, extent, text);
    }
  }
}

TEST(Turns, ListsThatAreTurnedHaveEqualPlaces) {
  Prng random(12);
  for (const std::string& text : shapes()) {
    const Fabric fabric = must_parse(text), plain = without_turns(fabric);
    const Turns& turns = fabric.graph->turns;
    for (int trial = 0; trial < 30; ++trial) {
      std::vector<int64_t> ranks;
      for (int64_t rank = 0; rank < fabric.size(); ++rank)
        if (random.chance(0.4)) ranks.push_back(rank);
      Turns::Steps steps{};
      for (size_t t = 0; t < turns.count(); ++t) steps[t] = static_cast<uint32_t>(random.below(turns.extent(t)));
      std::vector<int64_t> other;
      for (const int64_t rank : ranks) other.push_back(turns.turned(static_cast<uint32_t>(rank), steps, false));
      EXPECT_EQ(fabric.placement(ranks), fabric.placement(other)) << text;
      for (size_t i = 1; i < ranks.size(); ++i) {
        const Path a = plain.alone(ranks[0], ranks[i]), b = plain.alone(other[0], other[i]);
        EXPECT_EQ(a.latency_ps, b.latency_ps) << text;
        EXPECT_EQ(a.bytes_per_s, b.bytes_per_s) << text;
      }
    }
  }
}

}  // namespace
}  // namespace chakra::net
