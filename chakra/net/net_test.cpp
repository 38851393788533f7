// Topologies, fabrics and graphs: links, routes, what they cost.
#include "chakra/net/net.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "chakra/net/testing/fabrics.h"

namespace chakra::net {
namespace {

using testing::check_route;
using testing::random_fabric;
using testing::random_graph;

// ---- topologies ------------------------------------------------------------------------------------

TEST(Topologies, RowsAgreeWithThemselves) {
  for (const TopologyRow& row : kTopologies) {
    EXPECT_EQ(&kTopologies[static_cast<size_t>(row.kind)], &row);
    for (int64_t n = 2; n <= 17; ++n) {
      SCOPED_TRACE(fmt::format("{} of {}", row.name, n));
      std::set<std::pair<int64_t, int64_t>> ends;
      for (int64_t link = 0; link < row.links(n); ++link) {
        const auto [a, b] = row.ends(link, n);
        EXPECT_EQ(row.between(a, b, n), link);
        ends.insert({a, b});
      }
      const int64_t places = row.has_switch() ? n + 1 : n;
      for (int64_t a = 0; a < places; ++a)
        for (int64_t b = 0; b < places; ++b) EXPECT_EQ(row.between(a, b, n) >= 0, ends.contains({a, b}));
      for (int64_t a = 0; a < n; ++a)
        for (int64_t b = 0; b < n; ++b) {
          EXPECT_EQ(row.hops(a, b, n), row.hops(b, a, n));
          int64_t hops = 0, before = a;
          for (int64_t at = a; at != b && hops <= n; ++hops) {
            before = at;
            at = row.next(at, b, n);
            EXPECT_TRUE(ends.contains({before, at}));
          }
          EXPECT_EQ(row.hops(a, b, n), hops);
          if (a != b) EXPECT_EQ(row.previous(a, b, n), before);
        }
    }
  }
}

TEST(Topologies, HaveTheLinksOfTheirNames) {
  const auto neighbours = [](TopologyKind kind, int64_t n) {
    const Fabric fabric{{{kind, n, 50, 500}}};
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (LinkId id = 0; id < fabric.link_count(); ++id) pairs.insert({fabric.link(id).from, fabric.link(id).to});
    EXPECT_EQ(pairs.size(), fabric.link_count());
    return pairs;
  };
  using Pairs = std::set<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(neighbours(TopologyKind::ring, 3), (Pairs{{0, 1}, {1, 2}, {2, 0}, {1, 0}, {2, 1}, {0, 2}}));
  EXPECT_EQ(neighbours(TopologyKind::ring, 2), (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(neighbours(TopologyKind::torus, 2), (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(neighbours(TopologyKind::mesh, 3), (Pairs{{0, 1}, {1, 2}, {1, 0}, {2, 1}}));
  EXPECT_EQ(neighbours(TopologyKind::switch_, 2), (Pairs{{0, 2}, {1, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(neighbours(TopologyKind::fully_connected, 3), (Pairs{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(neighbours(TopologyKind::switch_, 1), Pairs{});
}

// ---- fabrics ---------------------------------------------------------------------------------------

TEST(Fabric, EveryPairHasARoute) {
  Prng random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Fabric fabric = random_fabric(random, 60, trial % 2);
    SCOPED_TRACE(fabric.describe());
    for (int64_t a = 0; a < fabric.size(); ++a)
      for (int64_t b = 0; b < fabric.size(); ++b) check_route(fabric, a, b);
  }
}

TEST(Fabric, LinksAreNumberedOnceEach) {
  Prng random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Fabric fabric = random_fabric(random, 100, trial % 2);
    SCOPED_TRACE(fabric.describe());
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    std::set<uint32_t> devices;
    for (LinkId id = 0; id < fabric.link_count(); ++id) {
      const Link link = fabric.link(id);
      EXPECT_TRUE(pairs.insert({link.from, link.to}).second);
      EXPECT_EQ(fabric.link_between(link.from, link.to), id);
      devices.insert({link.from, link.to});
    }
    // Ranks and switches are all there, and no other.
    for (const uint32_t device : devices) EXPECT_LT(device, fabric.devices());
    if (fabric.size() > 1) EXPECT_EQ(static_cast<int64_t>(devices.size()), fabric.devices());
    for (int64_t a = 0; a < fabric.devices(); ++a)
      for (int64_t b = 0; b < fabric.devices(); ++b)
        EXPECT_EQ(fabric.link_between(a, b) != kNoLink,
                  pairs.contains({static_cast<uint32_t>(a), static_cast<uint32_t>(b)}));
    EXPECT_EQ(fabric.link_between(-1, 0), kNoLink);
    EXPECT_EQ(fabric.link_between(0, fabric.devices()), kNoLink);
  }
}

TEST(Fabric, HundredThousandRanksTakeNoMemory) {
  const Fabric fabric{{{TopologyKind::fully_connected, 8, 450, 100},
                       {TopologyKind::torus, 16, 100, 500},
                       {TopologyKind::switch_, 1024, 50, 1000}}};
  EXPECT_EQ(fabric.size(), 131'072);
  EXPECT_EQ(fabric.devices(), 131'072 + 128);
  Prng random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<int64_t>(random.below(131'072)), b = static_cast<int64_t>(random.below(131'072));
    check_route(fabric, a, b);
    const auto id = static_cast<LinkId>(random.below(fabric.link_count()));
    EXPECT_EQ(fabric.link_between(fabric.link(id).from, fabric.link(id).to), id);
  }
  EXPECT_EQ(fabric.path(0, 131'071).latency_ps, 100'000 + 500'000 + 2 * 1'000'000);
  EXPECT_EQ(fabric.device_name(131'072), "switch 0");
}

TEST(Fabric, EqualPlacementMeansEqualPaths) {
  Prng random(4);
  int moved = 0;
  const auto costs = [](const Fabric& fabric, const std::vector<int64_t>& ranks) {
    std::vector<std::tuple<Picoseconds, double, uint32_t>> out;
    for (const int64_t a : ranks)
      for (const int64_t b : ranks) {
        const Path path = fabric.path(a, b);
        out.emplace_back(path.latency_ps, path.bytes_per_s, path.links);
      }
    return out;
  };
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_fabric(random, 60, trial % 4 == 0);
    std::map<std::vector<int64_t>, std::vector<int64_t>> known;
    const auto pick = static_cast<int64_t>(random.between(1, 3));
    for (int i = 0; i < 200; ++i) {
      std::vector<int64_t> ranks;
      for (int64_t k = 0; k < pick; ++k) ranks.push_back(static_cast<int64_t>(random.below(fabric.size())));
      const auto [first, added] = known.emplace(fabric.placement(ranks), ranks);
      if (added) continue;
      moved += first->second != ranks;
      EXPECT_EQ(costs(fabric, first->second), costs(fabric, ranks)) << fabric.describe();
    }
  }
  EXPECT_GT(moved, 1000);  // lists that stand alike in different places are found
  const Fabric torus{{{TopologyKind::torus, 4, 50, 500}, {TopologyKind::mesh, 4, 50, 500}}};
  EXPECT_EQ(torus.placement(std::vector<int64_t>{0, 1, 4}), torus.placement(std::vector<int64_t>{7, 4, 11}));
  EXPECT_NE(torus.placement(std::vector<int64_t>{0, 4}), torus.placement(std::vector<int64_t>{4, 0}));
}

// ---- graphs ----------------------------------------------------------------------------------------

TEST(Graph, RoutesAreShortestByAnotherMethod) {
  Prng random(5);
  for (int trial = 0; trial < 150; ++trial) {
    const Fabric fabric = random_graph(random, trial % 2);
    using Cost = std::pair<Picoseconds, uint32_t>;
    const auto ranks = static_cast<uint32_t>(fabric.size());
    for (int64_t to = 0; to < fabric.size(); ++to) {
      // Bellman and Ford: as many rounds over all links as there are devices. Through ranks only where that must be.
      std::vector<Cost> through[2];
      for (const bool ranks_pass : {false, true}) {
        std::vector<Cost>& cost = through[ranks_pass];
        cost.assign(static_cast<size_t>(fabric.devices()), {kNever, 0});
        cost[static_cast<size_t>(to)] = {0, 0};
        for (int64_t round = 0; round < fabric.devices(); ++round)
          for (LinkId id = 0; id < fabric.link_count(); ++id) {
            const Link link = fabric.link(id);
            if (link.to < ranks && link.to != to && !ranks_pass) continue;
            if (const Cost rest = cost[link.to]; rest.first != kNever)
              cost[link.from] = std::min(cost[link.from], Cost{rest.first + link.latency_ps, rest.second + 1});
          }
      }
      for (int64_t from = 0; from < fabric.size(); ++from) {
        if (from == to) continue;
        const bool ranks_pass = through[0][static_cast<size_t>(from)].first == kNever;
        const std::vector<Cost>& cost = through[ranks_pass];
        check_route(fabric, from, to);
        EXPECT_EQ((Cost{fabric.path(from, to).latency_ps, fabric.path(from, to).links}),
                  cost[static_cast<size_t>(from)]);
        std::vector<LinkId> route;
        fabric.route(from, to, route);
        for (const LinkId taken : route)  // of equally good links, the first
          for (LinkId id = 0; id < taken; ++id) {
            const Link link = fabric.link(id);
            if (link.to < ranks && link.to != to && !ranks_pass) continue;
            if (link.from == fabric.link(taken).from && cost[link.to].first != kNever)
              EXPECT_GT((Cost{cost[link.to].first + link.latency_ps, cost[link.to].second + 1}), cost[link.from]);
          }
      }
    }
  }
}

}  // namespace
}  // namespace chakra::net
