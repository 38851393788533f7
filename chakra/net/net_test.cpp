#include "chakra/net/net.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/net/fluid_solver.h"

namespace chakra::net {
namespace {

using testing::tag_of;

std::string tag_of(const std::string& text) { return tag_of(parse_fabric(*parse_spec(text, "net.yml"))); }

Fabric must_parse(const std::string& text) {
  auto fabric = parse_fabric(*parse_spec(text, "net.yml"));
  EXPECT_TRUE(fabric) << fabric.error().message();
  return fabric ? *fabric : Fabric{};
}

/// Any topologies in any number of dimensions; with `odd`, some links unlike the others.
Fabric random_fabric(Prng& random, int64_t most_ranks, bool odd) {
  Fabric fabric;
  fabric.routing.kind = Routing::single;
  for (int64_t left = most_ranks; left > 1 && (fabric.dimensions.empty() || random.chance(0.7));) {
    const int64_t ranks = random.between(1, std::min<int64_t>(left, 9));
    fabric.dimensions.push_back({static_cast<TopologyKind>(random.below(kTopologies.size())), ranks,
                                 static_cast<double>(random.between(10, 400)),
                                 static_cast<double>(random.between(0, 900))});
    left /= ranks;
  }
  std::set<LinkId> chosen;
  if (odd && fabric.link_count() > 0)
    for (int i = 0; i < 4; ++i) chosen.insert(static_cast<LinkId>(random.below(fabric.link_count())));
  for (const LinkId link : chosen)
    fabric.odd_links.push_back({link, 1e9 * static_cast<double>(random.between(1, 500)), random.between(0, 999'999)});
  return fabric;
}

/// A connected graph: a ring of all devices, one way round, and any other links.
Fabric random_graph(Prng& random, bool equal_latencies) {
  const int64_t ranks = random.between(1, 12), switches = random.between(0, 6), devices = ranks + switches;
  std::set<std::pair<int64_t, int64_t>> joined;
  if (devices > 1)
    for (int64_t d = 0; d < devices; ++d) joined.insert({d, (d + 1) % devices});
  for (int64_t i = random.between(0, 3 * devices); i-- > 0;)
    if (const int64_t a = random.between(0, devices - 1), b = random.between(0, devices - 1); a != b)
      joined.insert({a, b});
  std::vector<std::pair<int64_t, int64_t>> links(joined.begin(), joined.end());
  for (size_t i = links.size(); i > 1; --i) std::swap(links[i - 1], links[random.below(i)]);
  std::string text = fmt::format("metric: latency\nrouting: single\nranks: {}\nswitches: {}\nlinks:{}\n", ranks,
                                 switches, links.empty() ? " []" : "");
  for (const auto& [a, b] : links)
    text += fmt::format("- {{from: {}, to: {}, bandwidth: {}, latency: {}, both: false}}\n", a, b,
                        static_cast<double>(random.between(1000, 9999)) / 50,
                        equal_latencies ? random.between(1, 2) : random.between(0, 999'999));
  return must_parse(text);
}

Path sum_of(const Fabric& fabric, const std::vector<LinkId>& route) {
  Path path;
  for (const LinkId id : route) {
    const Link link = fabric.link(id);
    path.latency_ps += link.latency_ps;
    path.bytes_per_s = std::min(path.bytes_per_s, link.bytes_per_s);
    if (path.first == kNoLink) path.first = id;
    path.last = id;
    ++path.links;
  }
  return path;
}

/// The route is a chain of links from one rank to the other, through no device twice, and costs what path() says.
void check_route(const Fabric& fabric, int64_t from, int64_t to) {
  std::vector<LinkId> route;
  fabric.route(from, to, route);
  std::set<int64_t> seen{from};
  int64_t at = from;
  for (const LinkId id : route) {
    ASSERT_LT(id, fabric.link_count());
    const Link link = fabric.link(id);
    ASSERT_EQ(link.from, at);
    at = link.to;
    EXPECT_TRUE(seen.insert(at).second);
  }
  EXPECT_EQ(at, to);
  EXPECT_EQ(fabric.path(from, to), sum_of(fabric, route));
}

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
      const int64_t places = row.has_switch ? n + 1 : n;
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

// ---- files -----------------------------------------------------------------------------------------

TEST(File, ReadsTheEcosystemsFile) {
  const Fabric fabric =
      must_parse("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n");
  EXPECT_EQ(fabric.size(), 8);
  EXPECT_EQ(fabric.path(0, 7).links, 1u);
  EXPECT_EQ(fabric.path(0, 4).links, 4u);
  EXPECT_EQ(fabric.path(0, 3).latency_ps, 1'500'000);
  EXPECT_EQ(serialization(50'000'000'000, fabric.path(0, 1).bytes_per_s), 931'322'574'615);  // GB are 2^30 bytes there
  EXPECT_EQ(serialization(UINT64_MAX, 1e-3), kLongestPs);
  EXPECT_EQ(fabric.describe(), "Ring of 8, 50 GiB/s (53.7 GB/s), 500 ns per link");
}

TEST(File, ChargesEveryDimensionAndHop) {
  const Fabric fabric = must_parse(
      "topology: [FullyConnected, Torus, Switch]\nnpus_count: [2, 5, 3]\nbandwidth: [200, 100, 50]\n"
      "latency: [50, 500, 2000]\n");
  EXPECT_EQ(fabric.path(0, 1).latency_ps, 50'000);
  EXPECT_EQ(fabric.path(0, 2 * 2 + 1).latency_ps, 50'000 + 2 * 500'000);
  EXPECT_EQ(fabric.path(0, 2 * 2 + 1).bytes_per_s, 100 * 1073741824.0);
  EXPECT_EQ(fabric.path(0, 29).latency_ps, 50'000 + 500'000 + 2 * 2'000'000);
  EXPECT_EQ(fabric.path(0, 29).bytes_per_s, 50 * 1073741824.0);
  EXPECT_EQ(fabric.path(7, 7), Path{});
}

TEST(File, SlowLinks) {
  const std::string torus = "topology: [Torus, Torus]\nnpus_count: [4, 4]\nbandwidth: [50, 50]\nlatency: [500, 500]\n";
  const Fabric fabric = must_parse(torus +
                                   "slow_links:\n- {from: 1, to: 2, bandwidth: 5, latency: 900}\n"
                                   "- {from: 5, to: 9, latency: 100, both: false}\n");
  EXPECT_EQ(fabric.path(0, 2).latency_ps, 1'400'000);
  EXPECT_EQ(fabric.path(0, 2).bytes_per_s, 5 * 1073741824.0);
  EXPECT_EQ(fabric.path(2, 1).latency_ps, 900'000);
  EXPECT_EQ(fabric.path(5, 9).latency_ps, 100'000);
  EXPECT_EQ(fabric.path(5, 9).bytes_per_s, 50 * 1073741824.0);
  EXPECT_EQ(fabric.path(9, 5).latency_ps, 500'000);
  EXPECT_EQ(fabric.path(4, 6).latency_ps, 1'000'000);  // the other rows are as they were
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 2, latency: 9}]\n"), "net.file.link");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 16, latency: 9}]\n"), "net.file.link");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1, latency: 9}, {from: 1, to: 0, latency: 9}]\n"),
            "net.file.link");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1}]\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1, latncy: 9}]\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, latency: 9}]\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: {from: 0, to: 1, latency: 9}\n"), "net.file.key");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: 1, latency: -9}]\n"), "net.file.value");
  EXPECT_EQ(tag_of(torus + "slow_links: [{from: 0, to: x, latency: 9}]\n"), "base.spec.type");
}

TEST(File, NamesKeysWithoutEffect) {
  Findings findings;
  const auto fabric = parse_fabric(*parse_spec("topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n"
                                               "slow_link: [{from: 3, to: 4, latency: 9}]\n",
                                               "net.yml"),
                                   &findings);
  ASSERT_TRUE(fabric);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "net.file.unknown_key");
}

TEST(File, RefusesWhatCannotBe) {
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\n"), "net.file.key");
  EXPECT_EQ(tag_of("topology: Ring\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.key");
  EXPECT_EQ(tag_of("topology: [ Star ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 0 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ -1 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ -5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "net.file.value");
  EXPECT_EQ(tag_of("topology: [ Ring ]\nnpus_count: [ tbd ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"), "base.spec.type");
  EXPECT_EQ(tag_of("topology: [ Ring, Switch ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 5, 5 ]\nlatency: [ 5, 5 ]"), "");
  EXPECT_EQ(tag_of("topology: [Ring, Ring]\nnpus_count: [ 9999999, 9999999 ]\nbandwidth: [ 5, 5 ]\nlatency: [ 5, 5 ]"),
            "net.file.value");
  EXPECT_EQ(tag_of("topology: [FullyConnected]\nnpus_count: [16777216]\nbandwidth: [5]\nlatency: [5]"),
            "net.file.value");
  EXPECT_EQ(tag_of("topology: [FullyConnected]\nnpus_count: [65536]\nbandwidth: [5]\nlatency: [5]"), "");
}

TEST(File, RefusesBadGraphs) {
  const std::string link = "{from: 0, to: 1, bandwidth: 5, latency: 5}";
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [" + link + "]"), "");
  EXPECT_EQ(tag_of("links: [" + link + "]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: 7"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [7]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nbandwidth: 8\nlinks: [" + link + "]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: 1, bandwidth: 5}]"), "net.file.key");
  EXPECT_EQ(tag_of("ranks: 0\nlinks: [" + link + "]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: -3\nlinks: [" + link + "]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: [a, a]\nlinks: [{from: a, to: a, bandwidth: 5, latency: 5}]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: [a, 1]\nlinks: [" + link + "]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: b, bandwidth: 5, latency: 5}]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: 2, bandwidth: 5, latency: 5}]"), "net.graph.device");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 1, to: 1, bandwidth: 5, latency: 5}]"), "net.graph.link");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [" + link + ", {from: 1, to: 0, bandwidth: 5, latency: 5}]"), "net.graph.link");
  EXPECT_EQ(tag_of("ranks: 3\nlinks: [" + link + "]"), "net.graph.unreachable");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 0, to: 1, bandwidth: 5, latency: 5, both: false}]"),
            "net.graph.unreachable");
  EXPECT_EQ(tag_of("ranks: 2\nlinks: [{from: 1, to: 0, bandwidth: 5, latency: 5, both: false}]"),
            "net.graph.unreachable");
  EXPECT_EQ(tag_of("ranks: 999999999999\nlinks: [" + link + "]"), "net.graph.unreachable");
  std::string large = "ranks: 8200\nlinks:\n";
  for (int r = 1; r < 8200; ++r) large += fmt::format("- {{from: 0, to: {}, bandwidth: 5, latency: 5}}\n", r);
  EXPECT_EQ(tag_of(large), "net.graph.large");
}

/// The examples of the page that describes the format.
TEST(File, ReadsWhatItsPageShows) {
  const std::string page = testing::must_read("docs/reference/formats/network.md");
  std::vector<Fabric> fabrics;
  for (size_t at = page.find("```yaml\n"); at != std::string::npos; at = page.find("```yaml\n", at)) {
    at += 8;
    fabrics.push_back(must_parse(page.substr(at, page.find("```", at) - at)));
  }
  ASSERT_EQ(fabrics.size(), 4u);
  EXPECT_EQ(fabrics[0].size(), 8);
  EXPECT_EQ(fabrics[1].size(), 32);
  EXPECT_EQ(fabrics[1].odd_links.size(), 3u);
  const Fabric& graph = fabrics[2];
  EXPECT_EQ(graph.describe(), "graph of 4 ranks, 4 switches, 17 links");
  EXPECT_EQ(graph.device_name(4), "leaf0");
  EXPECT_EQ(graph.path(0, 1).latency_ps, 1'000'000);
  EXPECT_EQ(graph.path(0, 2).latency_ps, 2'400'000);  // 0, leaf0, spine0, leaf1, 2
  std::vector<Use> uses;
  EXPECT_EQ(graph.uses(0, 2, 0, uses), 2'420'000);  // and over spine1
  EXPECT_EQ(uses.size(), 6u);
  EXPECT_EQ(fabrics[3].routing.kind, Routing::ecmp);
  EXPECT_EQ(fabrics[3].routing.channels, 4u);
  EXPECT_EQ(fabrics[3].routing.seed, 7u);
  EXPECT_EQ(graph.path(0, 2).bytes_per_s, 50 * 1073741824.0);
  EXPECT_EQ(graph.path(0, 3).latency_ps, 1'800'000);  // the link of their own
  EXPECT_EQ(graph.path(3, 0).links, 4u);              // that leads one way only
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

// ---- fair rates ------------------------------------------------------------------------------------

struct Problem {
  std::vector<double> capacity;
  std::vector<uint32_t> first{0}, uses;

  size_t flows() const { return first.size() - 1; }
  std::span<const uint32_t> links_of(size_t flow) const {
    return std::span(uses).subspan(first[flow], first[flow + 1] - first[flow]);
  }
};

Problem random_problem(Prng& random) {
  Problem p;
  const auto links = static_cast<uint32_t>(random.between(1, 12));
  for (uint32_t l = 0; l < links; ++l)
    p.capacity.push_back(random.chance(0.5) ? 100 : static_cast<double>(random.between(1, 1000)));
  for (int64_t f = random.between(0, 30); f-- > 0;) {
    std::set<uint32_t> chosen;
    for (int64_t k = random.between(1, 4); k-- > 0;) chosen.insert(static_cast<uint32_t>(random.below(links)));
    p.uses.insert(p.uses.end(), chosen.begin(), chosen.end());
    p.first.push_back(static_cast<uint32_t>(p.uses.size()));
  }
  return p;
}

/// All rates grow by the most that all links allow; then those that cannot grow stop. No heap, no shares kept.
std::vector<double> fill(const Problem& p) {
  std::vector<double> rate(p.flows(), 0), left = p.capacity;
  std::vector<bool> stopped(p.flows(), false);
  for (;;) {
    std::vector<int> growing(left.size(), 0);
    for (size_t f = 0; f < p.flows(); ++f)
      if (!stopped[f])
        for (const uint32_t l : p.links_of(f)) ++growing[l];
    double step = -1;
    for (size_t l = 0; l < left.size(); ++l)
      if (growing[l] > 0 && (step < 0 || left[l] / growing[l] < step)) step = left[l] / growing[l];
    if (step < 0) return rate;
    for (size_t f = 0; f < p.flows(); ++f)
      if (!stopped[f]) rate[f] += step;
    for (size_t l = 0; l < left.size(); ++l) left[l] -= step * growing[l];
    for (size_t f = 0; f < p.flows(); ++f)
      for (const uint32_t l : p.links_of(f))
        if (left[l] <= 1e-9 * p.capacity[l]) stopped[f] = true;
  }
}

TEST(FluidSolver, RatesAreMaxMinFair) {
  Prng random(6);
  FluidSolver solver;
  for (int trial = 0; trial < 2000; ++trial) {
    const Problem p = random_problem(random);
    std::vector<double> rate(p.flows(), -1), used(p.capacity.size(), 0), fastest(p.capacity.size(), 0);
    solver.solve(p.capacity, p.first, p.uses, {}, rate);
    for (size_t f = 0; f < p.flows(); ++f)
      for (const uint32_t l : p.links_of(f)) {
        used[l] += rate[f];
        fastest[l] = std::max(fastest[l], rate[f]);
      }
    for (size_t l = 0; l < used.size(); ++l) EXPECT_LE(used[l], p.capacity[l] * (1 + 1e-12));
    for (size_t f = 0; f < p.flows(); ++f) {
      bool has_bottleneck = false;
      for (const uint32_t l : p.links_of(f))
        has_bottleneck |= used[l] >= p.capacity[l] * (1 - 1e-12) && rate[f] >= fastest[l] * (1 - 1e-12);
      EXPECT_TRUE(has_bottleneck);
    }
    const std::vector<double> expected = fill(p);
    for (size_t f = 0; f < p.flows(); ++f) EXPECT_NEAR(rate[f], expected[f], 1e-7 * expected[f]);
  }
}

// ---- messages --------------------------------------------------------------------------------------

struct Sent {
  Picoseconds at;
  Message message;
};

/// All deliveries, in the order in which they came.
template <class Network>
std::vector<Delivery> carry(Network& network, const std::vector<Sent>& sent) {
  std::vector<Delivery> all, done;
  size_t next = 0;
  Picoseconds before = 0;
  while (next < sent.size() || network.next_event_time() != kNever) {
    const Picoseconds send = next < sent.size() ? sent[next].at : kNever;
    const Picoseconds event = network.next_event_time();
    const Picoseconds now = network.advance_to(send, done);
    EXPECT_GE(now, before);
    EXPECT_LE(now, send);
    EXPECT_GE(now, std::min(event, send));
    before = now;
    for (const Delivery& d : done) EXPECT_TRUE(d.left_ps == now || d.arrived_ps == now);
    all.insert(all.end(), done.begin(), done.end());
    done.clear();
    if (now == send)
      for (; next < sent.size() && sent[next].at == now; ++next) network.send(now, sent[next].message);
  }
  return all;
}

template <class Network>
std::vector<Delivery> by_token(Network network, const std::vector<Sent>& sent) {
  std::vector<Delivery> all = carry(network, sent);
  EXPECT_EQ(all.size(), sent.size());
  std::sort(all.begin(), all.end(), [](const Delivery& a, const Delivery& b) { return a.token < b.token; });
  return all;
}

Picoseconds last_arrival(const std::vector<Delivery>& all) {
  Picoseconds last = 0;
  for (const Delivery& d : all) last = std::max(last, d.arrived_ps);
  return last;
}

std::vector<Sent> random_traffic(Prng& random, const Fabric& fabric, uint64_t most_bytes, Picoseconds longest) {
  std::vector<Sent> sent;
  for (int64_t i = random.between(1, 60); i-- > 0;)
    sent.push_back({random.chance(0.3) ? 0 : random.between(0, longest),
                    {random.between(0, fabric.size() - 1), random.between(0, fabric.size() - 1),
                     random.chance(0.1) ? 0 : random.below(most_bytes), 0}});
  std::stable_sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return a.at < b.at; });
  for (size_t i = 0; i < sent.size(); ++i) sent[i].message.token = i;
  return sent;
}

Fabric random_network(Prng& random) {
  return random.chance(0.3) ? random_graph(random, false) : random_fabric(random, 40, random.chance(0.5));
}

/// What links have carried is what the routes say.
template <class Network>
void check_totals(const Fabric& fabric, const Network& network, const std::vector<Sent>& sent, uint64_t packet_bytes) {
  std::map<LinkId, uint64_t> bytes;
  std::vector<LinkId> route;
  for (const Sent& s : sent) {
    route.clear();
    fabric.route(s.message.from, s.message.to, route);
    for (const LinkId id : route)
      if (s.message.bytes > 0) bytes[id] += s.message.bytes;
  }
  const std::vector<LinkTotal> totals = network.totals();
  ASSERT_EQ(totals.size(), bytes.size());
  auto expected = bytes.begin();
  for (const LinkTotal& total : totals) {
    EXPECT_EQ(total.link, expected->first);
    EXPECT_EQ(total.bytes, expected->second);
    const auto busy = static_cast<double>(serialization(total.bytes, fabric.link(total.link).bytes_per_s));
    // The push of each packet is rounded, and so is that of each message.
    const uint64_t roundings = sent.size() + (packet_bytes > 0 ? total.bytes / packet_bytes : 0);
    EXPECT_NEAR(static_cast<double>(total.busy_ps), busy, 1 + 0.5 * static_cast<double>(roundings));
    ++expected;
  }
}

TEST(Fluid, AloneIsTheClosedForm) {
  Prng random(7);
  for (int trial = 0; trial < 500; ++trial) {
    const Fabric fabric = random_network(random);
    const Message message{random.between(0, fabric.size() - 1), random.between(0, fabric.size() - 1),
                          random.chance(0.1) ? 0 : random.below(uint64_t{1} << random.between(1, 40)), 5};
    const Picoseconds start = random.between(0, 1'000'000'000'000);
    const auto all = by_token(FluidNetwork(fabric), {{start, message}});
    const Path path = fabric.path(message.from, message.to);
    const Picoseconds left = start + serialization(message.bytes, path.bytes_per_s);
    EXPECT_EQ(all[0], (Delivery{5, left, left + path.latency_ps}));
  }
}

const double kBytePerPs = 1e12 / 1073741824.0;  // in the file's GB/s

TEST(Fluid, FlowsShareALink) {
  const Fabric ring{{{TopologyKind::ring, 8, kBytePerPs, 1}}};
  // Two at once take twice the time; those elsewhere do not notice.
  EXPECT_EQ(by_token(FluidNetwork(ring), {{0, {0, 1, 1000, 0}}, {0, {0, 1, 1000, 1}}, {0, {4, 5, 1000, 2}}}),
            (std::vector<Delivery>{{0, 2000, 3000}, {1, 2000, 3000}, {2, 1000, 2000}}));
  // The second comes when half of the first is through: 500 + 1000, and 500 of its own alone.
  EXPECT_EQ(by_token(FluidNetwork(ring), {{0, {0, 1, 1000, 0}}, {500, {0, 1, 1000, 1}}}),
            (std::vector<Delivery>{{0, 1500, 2500}, {1, 2000, 3000}}));
  // 0 -> 2 and 1 -> 3 meet on 1 -> 2; 2 -> 3 carries 1 -> 3 and another, whose rate 1 -> 3 leaves.
  EXPECT_EQ(by_token(FluidNetwork(ring), {{0, {0, 2, 1000, 0}}, {0, {1, 3, 1000, 1}}, {0, {2, 3, 500, 2}}}),
            (std::vector<Delivery>{{0, 2000, 4000}, {1, 2000, 4000}, {2, 1000, 2000}}));
  EXPECT_EQ(by_token(FluidNetwork(ring), {{7, {3, 3, 1000, 0}}, {7, {0, 1, 0, 1}}}),
            (std::vector<Delivery>{{0, 7, 7}, {1, 7, 1007}}));
}

/// All rates anew at each event, for all flows.
std::vector<Delivery> fluid_oracle(const Fabric& fabric, const std::vector<Sent>& sent) {
  struct Flow {
    const Sent* sent;
    std::vector<LinkId> route;
    double remaining;
  };
  std::vector<Delivery> all(sent.size());
  std::vector<Flow> flows;
  double now = 0;
  size_t next = 0;
  while (next < sent.size() || !flows.empty()) {
    std::map<LinkId, uint32_t> number;
    Problem p;
    for (const Flow& flow : flows) {
      for (const LinkId id : flow.route) {
        const auto [found, added] = number.emplace(id, static_cast<uint32_t>(number.size()));
        if (added) p.capacity.push_back(fabric.link(id).bytes_per_s / 1e12);
        p.uses.push_back(found->second);
      }
      p.first.push_back(static_cast<uint32_t>(p.uses.size()));
    }
    const std::vector<double> rate = fill(p);
    double until = next < sent.size() ? static_cast<double>(sent[next].at) : INFINITY;
    for (size_t f = 0; f < flows.size(); ++f) until = std::min(until, now + flows[f].remaining / rate[f]);
    for (size_t f = 0; f < flows.size(); ++f) flows[f].remaining -= rate[f] * (until - now);
    now = until;
    std::erase_if(flows, [&](const Flow& flow) {
      if (flow.remaining > 1e-6) return false;
      const Message& m = flow.sent->message;
      const auto left = static_cast<Picoseconds>(std::llround(now));
      all[m.token] = {m.token, left, left + fabric.path(m.from, m.to).latency_ps};
      return true;
    });
    for (; next < sent.size() && static_cast<double>(sent[next].at) <= now; ++next) {
      const Message& m = sent[next].message;
      flows.push_back({&sent[next], {}, static_cast<double>(m.bytes)});
      fabric.route(m.from, m.to, flows.back().route);
      if (m.bytes > 0 && m.from != m.to) continue;
      all[m.token] = {m.token, sent[next].at, sent[next].at + fabric.path(m.from, m.to).latency_ps};
      flows.pop_back();
    }
  }
  return all;
}

TEST(Fluid, EqualsRatesTakenAnewEachTime) {
  Prng random(8);
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_network(random);
    const auto sent = random_traffic(random, fabric, 1 << 20, 20'000'000);
    FluidNetwork network(fabric);
    const auto all = by_token(std::move(network), sent);
    const auto expected = fluid_oracle(fabric, sent);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(all[i].left_ps), static_cast<double>(expected[i].left_ps), 100);  // of 1e7
      EXPECT_EQ(all[i].arrived_ps - all[i].left_ps, expected[i].arrived_ps - expected[i].left_ps);
    }
    FluidNetwork counted(fabric);
    (void)carry(counted, sent);
    check_totals(fabric, counted, sent, 0);
  }
}

TEST(Packet, AloneIsStoreAndForward) {
  const Fabric fabric{{{TopologyKind::mesh, 4, kBytePerPs, 1}, {TopologyKind::switch_, 2, kBytePerPs / 2, 3}}};
  // 10,000 bytes are packets of 4096, 4096 and 1808.
  EXPECT_EQ(by_token(PacketNetwork(fabric), {{10, {0, 1, 10'000, 0}}})[0], (Delivery{0, 10'010, 11'010}));
  // Then over two more links of half the rate; the last of them pushes all packets without a pause.
  EXPECT_EQ(by_token(PacketNetwork(fabric), {{0, {0, 5, 10'000, 0}}})[0],
            (Delivery{0, 10'000, 4096 + 1000 + 8192 + 3000 + 8192 + 8192 + 3616 + 3000}));
  EXPECT_EQ(by_token(PacketNetwork(fabric, {0}), {{0, {0, 5, 10'000, 0}}})[0],
            (Delivery{0, 10'000, 10'000 + 1000 + 20'000 + 3000 + 20'000 + 3000}));
  EXPECT_EQ(by_token(PacketNetwork(fabric), {{7, {3, 3, 1000, 0}}, {7, {0, 1, 0, 1}}}),
            (std::vector<Delivery>{{0, 7, 7}, {1, 7, 1007}}));
}

TEST(Packet, TheWindowNeverHoldsUpAMessageAlone) {
  Prng random(9);
  for (int trial = 0; trial < 200; ++trial) {
    const Fabric fabric = random_network(random);
    const int64_t from = random.between(0, fabric.size() - 1), to = random.between(0, fabric.size() - 1);
    if (from == to) continue;
    const uint64_t packets = 500;
    const auto all = by_token(PacketNetwork(fabric), {{0, {from, to, packets * 4096, 0}}});
    // The first packet goes through; the others follow at the pace of the slowest link.
    std::vector<LinkId> route;
    fabric.route(from, to, route);
    Picoseconds through = 0, slowest = 0;
    for (const LinkId id : route) {
      const Picoseconds push = serialization(4096, fabric.link(id).bytes_per_s);
      through += push + fabric.link(id).latency_ps;
      slowest = std::max(slowest, push);
    }
    EXPECT_EQ(all[0].arrived_ps, through + (static_cast<Picoseconds>(packets) - 1) * slowest);
  }
}

/// The same rules with an event for each thing that happens: links that become free, packets that come.
std::vector<Delivery> packet_oracle(const Fabric& fabric, const std::vector<Sent>& sent, uint64_t size) {
  struct Flow {
    const Sent* sent;
    std::vector<LinkId> route;
    uint64_t packets, unsent, window, under_way = 0;
    Picoseconds left = 0;
  };
  struct Waiting {
    size_t flow;
    uint64_t from_packet;
  };
  struct State {
    std::deque<size_t> turns;                        // flows
    std::map<size_t, std::deque<uint64_t>> packets;  // by flow
    bool busy = false;
  };
  enum class What { free, come, send };
  struct Event {
    What what;
    LinkId link = 0;
    size_t flow = 0, hop = 0;
    uint64_t packet = 0;
  };
  std::vector<Delivery> all(sent.size());
  std::vector<Flow> flows;
  std::map<LinkId, State> links;
  std::multimap<std::pair<Picoseconds, What>, Event> events;  // of one time, links become free first
  const auto bytes_of = [&](const Flow& flow, uint64_t packet) {
    return packet + 1 < flow.packets ? size : flow.sent->message.bytes - (flow.packets - 1) * size;
  };
  const auto start = [&](Picoseconds now, LinkId id) {
    State& link = links[id];
    if (link.busy || link.turns.empty()) return;
    const size_t f = link.turns.front();
    link.turns.pop_front();
    auto& packets = link.packets[f];
    const uint64_t packet = packets.front();
    packets.pop_front();
    if (!packets.empty()) link.turns.push_back(f);
    link.busy = true;
    Flow& flow = flows[f];
    const Picoseconds free = now + serialization(bytes_of(flow, packet), fabric.link(id).bytes_per_s);
    const auto hop = static_cast<size_t>(std::find(flow.route.begin(), flow.route.end(), id) - flow.route.begin());
    if (hop == 0 && packet + 1 == flow.packets) flow.left = free;
    events.insert({{free, What::free}, {What::free, id, 0, 0, 0}});
    events.insert({{free + fabric.link(id).latency_ps, What::come}, {What::come, id, f, hop + 1, packet}});
  };
  const auto join = [&](Picoseconds now, size_t f, size_t hop, uint64_t packet) {
    State& link = links[flows[f].route[hop]];
    if (link.packets[f].empty()) link.turns.push_back(f);
    link.packets[f].push_back(packet);
    start(now, flows[f].route[hop]);
  };
  for (size_t i = 0; i < sent.size(); ++i) {
    const Message& m = sent[i].message;
    const uint64_t packets = m.bytes == 0 ? 1 : (m.bytes + size - 1) / size;
    flows.push_back({&sent[i], {}, packets, 0, 0, 0, 0});
    fabric.route(m.from, m.to, flows.back().route);
    if (m.from == m.to) all[i] = {m.token, sent[i].at, sent[i].at};
    else events.insert({{sent[i].at, What::send}, {What::send, 0, i, 0, 0}});
    Picoseconds travel = 0, slowest = 1;
    for (const LinkId id : flows.back().route) {
      const Picoseconds push = serialization(size, fabric.link(id).bytes_per_s);
      travel += push + fabric.link(id).latency_ps;
      slowest = std::max(slowest, push);
    }
    flows.back().window = static_cast<uint64_t>(travel / slowest) + 2;
  }
  while (!events.empty()) {
    const auto now = events.begin()->first.first;
    const Event event = events.begin()->second;
    events.erase(events.begin());
    Flow& flow = flows[event.flow];
    if (event.what == What::free) {
      links[event.link].busy = false;
      start(now, event.link);
    } else if (event.what == What::send) {
      for (; flow.unsent < std::min(flow.window, flow.packets); ++flow.unsent) join(now, event.flow, 0, flow.unsent);
    } else if (event.hop < flow.route.size()) {
      join(now, event.flow, event.hop, event.packet);
    } else if (event.packet + 1 == flow.packets) {
      all[event.flow] = {flow.sent->message.token, flow.left, now};
    } else if (flow.unsent < flow.packets) {
      join(now, event.flow, 0, flow.unsent++);
    }
  }
  return all;
}

TEST(Packet, EqualsAnEventForEverything) {
  Prng random(10);
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_graph(random, false);  // all links differ: no two things happen at one time
    auto sent = random_traffic(random, fabric, 200'000, 20'000'000);
    for (Sent& s : sent) s.at += static_cast<Picoseconds>(s.message.token);
    std::stable_sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return a.at < b.at; });
    for (size_t i = 0; i < sent.size(); ++i) sent[i].message.token = i;
    EXPECT_EQ(by_token(PacketNetwork(fabric), sent), packet_oracle(fabric, sent, 4096));
  }
}

TEST(Packet, ReportsWhatLeavesInTime) {
  Prng random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const Fabric fabric = random_network(random);
    const auto sent = random_traffic(random, fabric, 1 << 17, 5'000'000);
    const PacketOptions options{random.chance(0.2) ? 0 : 1 + random.below(9000), false};
    PacketNetwork plain(fabric, options), reporting(fabric, {options.packet_bytes, true});
    const auto once = carry(plain, sent);
    std::vector<Delivery> twice = carry(reporting, sent);
    std::map<uint64_t, Picoseconds> left;
    for (const Delivery& d : twice) {
      if (d.arrived_ps == kNever) EXPECT_TRUE(left.emplace(d.token, d.left_ps).second);
      else if (const auto found = left.find(d.token); found != left.end()) EXPECT_EQ(found->second, d.left_ps);
      else EXPECT_EQ(d.left_ps, d.arrived_ps);  // it leaves and arrives at once
    }
    std::erase_if(twice, [](const Delivery& d) { return d.arrived_ps == kNever; });
    EXPECT_EQ(twice, once);
    check_totals(fabric, plain, sent, options.packet_bytes);
  }
}

/// Finish times of fluid and packet differ by less than 5 % where transfers are long against latencies.
TEST(Packet, AgreesWithFluid) {  // with one route each; Routing.* compares others
  std::vector<Fabric> fabrics{{{{TopologyKind::ring, 16, 50, 500}}},
                              {{{TopologyKind::switch_, 16, 50, 500}}},
                              {{{TopologyKind::fully_connected, 16, 50, 500}}},
                              {{{TopologyKind::torus, 4, 50, 500}, {TopologyKind::torus, 8, 25, 700}}},
                              {{{TopologyKind::mesh, 5, 50, 500}, {TopologyKind::mesh, 5, 50, 500}}},
                              {{{TopologyKind::fully_connected, 8, 400, 100}, {TopologyKind::switch_, 4, 50, 900}}}};
  Prng random(12);
  for (Fabric& fabric : fabrics) {
    fabric.routing.kind = Routing::single;
    const int64_t n = fabric.size();
    std::vector<std::vector<Sent>> patterns(5);
    for (int64_t r = 0; r < n; ++r) patterns[0].push_back({0, {r, (r + 5) % n, 4 << 20, 0}});
    for (size_t p : {1, 2}) {
      std::vector<int64_t> to(static_cast<size_t>(n));
      std::iota(to.begin(), to.end(), 0);
      for (size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
      for (int64_t r = 0; r < n; ++r) patterns[p].push_back({0, {r, to[static_cast<size_t>(r)], 4 << 20, 0}});
    }
    for (int64_t r = 1; r < n; ++r) patterns[3].push_back({0, {r, 0, 2 << 20, 0}});
    for (int64_t k = 1; k < n; ++k)
      for (int64_t r = 0; r < n; ++r) patterns[4].push_back({0, {r, (r + k) % n, 1 << 19, 0}});
    for (size_t p = 0; p < patterns.size(); ++p) {
      for (size_t i = 0; i < patterns[p].size(); ++i) patterns[p][i].message.token = i;
      const auto fluid = by_token(FluidNetwork(fabric), patterns[p]);
      const auto packet = by_token(PacketNetwork(fabric), patterns[p]);
      SCOPED_TRACE(fmt::format("pattern {} on {}", p, fabric.describe()));
      const auto finish = static_cast<double>(last_arrival(fluid));
      EXPECT_NEAR(static_cast<double>(last_arrival(packet)), finish, 0.05 * finish);
      // Except for the all-to-all, each message also agrees.
      for (size_t i = 0; p < 4 && i < fluid.size(); ++i) {
        const auto arrived = static_cast<double>(fluid[i].arrived_ps);
        EXPECT_NEAR(static_cast<double>(packet[i].arrived_ps), arrived, 0.05 * arrived);
      }
    }
  }
}

TEST(Networks, MayBeAdvancedInAnySteps) {
  Prng random(13);
  for (int trial = 0; trial < 50; ++trial) {
    const Fabric fabric = random_network(random);
    const auto sent = random_traffic(random, fabric, 1 << 18, 0);
    const auto steps = [&](auto network, Picoseconds step) {
      std::vector<Delivery> all;
      for (const Sent& s : sent) network.send(0, s.message);
      for (Picoseconds time = 0; network.next_event_time() != kNever;)
        if (network.advance_to(time, all) == time) time += step;
      return all;
    };
    EXPECT_EQ(steps(FluidNetwork(fabric), 50'000), steps(FluidNetwork(fabric), 777'777));
    EXPECT_EQ(steps(PacketNetwork(fabric), 50'000), steps(PacketNetwork(fabric), 777'777));
  }
}

TEST(Networks, StandHugeSizes) {
  const Fabric fabric{{{TopologyKind::ring, 4, 1e-9, 1e12}}};
  FluidNetwork fluid(fabric);
  PacketNetwork packet(fabric, {0});
  std::vector<Delivery> done;
  for (uint64_t i = 0; i < 3; ++i) {
    fluid.send(0, {0, 2, UINT64_MAX, i});
    packet.send(0, {0, 2, UINT64_MAX, i});
  }
  while (fluid.next_event_time() != kNever) fluid.advance_to(kNever, done);
  while (packet.next_event_time() != kNever) packet.advance_to(kNever, done);
  ASSERT_EQ(done.size(), 6u);
  for (const Delivery& d : done) EXPECT_EQ(d.arrived_ps, kLongestPs);
  // 2^52 packets: no memory for each, and the caller gets to look around.
  PacketNetwork many(fabric);
  many.send(0, {0, 1, UINT64_MAX, 0});
  done.clear();
  EXPECT_LT(many.advance_to(kNever, done), kNever);
  EXPECT_TRUE(done.empty());
}

}  // namespace
}  // namespace chakra::net
