// Whole networks: each row against graphs written out link by link, and against closed forms.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "chakra/net/graph.h"
#include "chakra/net/net.h"
#include "chakra/net/testing/fabrics.h"
#include "chakra/net/testing/graphs.h"

namespace chakra::net {
namespace {

using testing::must_parse;
using testing::tag_of;

/// A file of a shape; `numbers` are its keys.
std::string shape(std::string_view name, std::string_view numbers, std::string_view bandwidth = "50",
                  std::string_view latency = "500") {
  return fmt::format("topology: {}\n{}\nbandwidth: {}\nlatency: {}\n", name, numbers, bandwidth, latency);
}
std::string fat_tree(std::string_view down, std::string_view up, std::string_view bandwidth = "50") {
  return shape("FatTree", fmt::format("down: [{}]\nup: [{}]", down, up), bandwidth);
}
std::string dragonfly(int64_t routers, int64_t ranks, int64_t global, int64_t groups) {
  return shape("Dragonfly", fmt::format("ranks_per_router: {}\nrouters: {}\nglobal: {}\ngroups: {}", ranks, routers,
                                        global, groups));
}
std::string rails(int64_t ranks, int64_t nodes, int64_t pods, int64_t spines, std::string_view bandwidth = "50") {
  return shape("Rails", fmt::format("ranks_per_node: {}\nnodes: {}\npods: {}\nspines: {}", ranks, nodes, pods, spines),
               bandwidth);
}

/// The example of each row, and more files of some.
std::multimap<std::string_view, std::string> samples() {
  std::multimap<std::string_view, std::string> all{{"FatTree", fat_tree("4", "1")},
                                                   {"FatTree", fat_tree("2, 3, 2", "2, 1, 3")},
                                                   {"FatTree", fat_tree("2, 2, 2, 2", "1, 2, 1, 2")},
                                                   {"Dragonfly", dragonfly(2, 1, 2, 3)},
                                                   {"Dragonfly", dragonfly(4, 2, 0, 1)},
                                                   {"Rails", rails(2, 1, 3, 1)},
                                                   {"Rails", rails(3, 4, 1, 0)}};
  for (const ShapeRow& row : kShapes) all.emplace(row.name, shape(row.name, row.example));
  return all;
}

/// Every link, whatever its number.
auto links_of(const Fabric& fabric) {
  std::multiset<std::tuple<uint32_t, uint32_t, double, Picoseconds>> links;
  for (LinkId id = 0; id < fabric.link_count(); ++id) {
    const Link link = fabric.link(id);
    links.emplace(link.from, link.to, link.bytes_per_s, link.latency_ps);
  }
  return links;
}

TEST(Shapes, EveryRowRoutesEveryPair) {
  const auto all = samples();
  for (const ShapeRow& row : kShapes) {
    EXPECT_EQ(find_shape(row.name), &row);
    for (auto [sample, end] = all.equal_range(row.name); sample != end; ++sample) {
      SCOPED_TRACE(sample->second);
      const Fabric fabric = must_parse(sample->second);
      EXPECT_EQ(fabric.describe().substr(0, row.name.size()), row.name);
      std::set<std::string> names;
      for (int64_t d = 0; d < fabric.devices(); ++d)
        EXPECT_TRUE(names.insert(fabric.device_name(static_cast<uint32_t>(d))).second);
      for (LinkId id = 0; id < fabric.link_count(); ++id) {  // one each way, and no second
        const Link link = fabric.link(id);
        EXPECT_EQ(fabric.link_between(link.from, link.to), id);
        EXPECT_NE(fabric.link_between(link.to, link.from), kNoLink);
      }
      for (int64_t from = 0; from < fabric.size(); ++from)
        for (int64_t to = 0; to < fabric.size(); ++to) {
          std::vector<LinkId> route;
          fabric.route(from, to, route);
          auto at = static_cast<uint32_t>(from);
          for (const LinkId id : route) {
            ASSERT_EQ(fabric.link(id).from, at);
            at = fabric.link(id).to;
          }
          EXPECT_EQ(at, to);
          EXPECT_EQ(route.size(), fabric.path(to, from).links);
        }
    }
  }
}

TEST(Shapes, AreTheGraphsThatAreWrittenOut) {
  const auto same = [](const std::string& row, const std::string& graph) {
    const Fabric built = must_parse(row), written = must_parse(graph);
    EXPECT_EQ(built.size(), written.size());
    EXPECT_EQ(built.devices(), written.devices());
    EXPECT_EQ(links_of(built), links_of(written));
    EXPECT_EQ(built.trunk_count(), written.trunk_count());
    EXPECT_EQ(built.graph->places.has_value(), written.graph->places.has_value());
  };
  same(fat_tree("8, 4", "1, 4"), testing::leaf_spine(4, 8, 4));
  same(fat_tree("2, 3", "1, 5", "[50, 25]"), testing::leaf_spine(3, 2, 5, 25));
  for (const int64_t k : {4, 6, 8})
    same(fat_tree(fmt::format("{}, {}, {}", k / 2, k / 2, k), fmt::format("1, {}, {}", k / 2, k / 2)),
         testing::fat_tree(k));
  same(dragonfly(2, 1, 2, 5), testing::dragonfly(2, 1, 2));
  same(dragonfly(4, 2, 1, 5), testing::dragonfly(4, 2, 1));
  same(dragonfly(3, 3, 2, 7), testing::dragonfly(3, 3, 2));
}

/// The counts of papers and of NVIDIA's page. Each kind of cable has its own bandwidth, by which the test counts it.
TEST(Shapes, CountWhatTheirSourcesCount) {
  struct Row {
    const char* source;
    std::string text;
    int64_t ranks, switches;
    std::vector<size_t> cables;         ///< by kind
    std::map<size_t, size_t> by_ports;  ///< how many switches have N ports, by N
  };
  const std::vector<Row> rows{
      // k = 4 pods, each of 2 edge and 2 aggregation switches, and (k/2)^2 = 4 core switches, all of k ports; k^3/4
      // hosts.
      {"Al-Fares et al., A scalable, commodity data center network architecture (2008), figure 3",
       fat_tree("2, 2, 4", "1, 2, 2", "[1, 2, 3]"),
       16,
       20,
       {16, 16, 16},
       {{4, 20}}},
      // p = 2 terminals, a = 4 routers of a group, h = 2 global ports: g = a h + 1 = 9 groups, N = a p g = 72, and
      // routers of p + a + h - 1 = 7 ports.
      {"Kim et al., Technology-driven, highly-scalable dragonfly topology (2008), figure 5",
       shape("Dragonfly", "ranks_per_router: 2\nrouters: 4\nglobal: 2\ngroups: 9", "[1, 2, 3]"),
       72,
       36,
       {72, 54, 36},
       {{7, 36}}},
      // Four scalable units of 32 nodes of 8 GPUs: 32 leaves, 16 spines, 1,024 cables from nodes to leaves. Between a
      // leaf and a spine NVIDIA has two cables in parallel, 1,024 in all; here they are one. The switches inside nodes
      // are not in NVIDIA's table.
      {"docs.nvidia.com, DGX SuperPOD reference architecture B200, larger SuperPOD component counts",
       rails(8, 32, 4, 16, "[1, 2, 3]"),
       1'024,
       128 + 32 + 16,
       {1'024, 1'024, 1'024 / 2},
       {{8, 128}, {32 + 16, 32}, {32, 16}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.source);
    const Fabric fabric = must_parse(row.text);
    EXPECT_EQ(fabric.size(), row.ranks);
    EXPECT_EQ(fabric.devices() - fabric.size(), row.switches);
    std::map<double, size_t> links;
    std::map<int64_t, size_t> ports;
    for (LinkId id = 0; id < fabric.link_count(); ++id) {
      ++links[fabric.link(id).bytes_per_s];
      ++ports[fabric.link(id).from];
    }
    std::vector<size_t> cables;
    for (const auto& [rate, count] : links) cables.push_back(count / 2);  // a link each way
    EXPECT_EQ(cables, row.cables);
    std::map<size_t, size_t> by_ports;
    for (const auto& [device, count] : ports)
      if (device >= fabric.size()) ++by_ports[count];
    EXPECT_EQ(by_ports, row.by_ports);
  }
  // Al-Fares et al., section 3.1, with switches of 48 ports: too large to be built, but counted.
  const std::vector<std::vector<int64_t>> numbers{{24, 24, 48}, {1, 24, 24}};
  const ShapeSize large = find_shape("FatTree")->size(numbers);
  EXPECT_EQ(large.ranks, 27'648);
  EXPECT_EQ(large.switches, 2'880);
}

/// The i-th GPUs of all nodes of a scalable unit share a leaf, and no leaf has two of one node.
TEST(Rails, HaveALeafForEachPlaceInANode) {
  const int64_t ranks = 4, nodes = 3, pods = 2;
  const Fabric fabric = must_parse(rails(ranks, nodes, pods, 5, "[1, 2, 3]"));
  const double to_leaf = fabric.link(fabric.link_between(0, static_cast<uint32_t>(24 + 6))).bytes_per_s;
  std::map<uint32_t, std::set<std::tuple<int64_t, int64_t, int64_t>>> of_leaf;  // pod, node, place
  for (LinkId id = 0; id < fabric.link_count(); ++id)
    if (const Link link = fabric.link(id); link.bytes_per_s == to_leaf && link.from < fabric.size())
      of_leaf[link.to].emplace(link.from / ranks / nodes, link.from / ranks, link.from % ranks);
  EXPECT_EQ(of_leaf.size(), static_cast<size_t>(pods * ranks));
  for (const auto& [leaf, members] : of_leaf) {
    const auto [pod, first, place] = *members.begin();
    EXPECT_EQ(members.size(), static_cast<size_t>(nodes));
    for (int64_t i = 0; i < nodes; ++i) EXPECT_TRUE(members.contains({pod, pod * nodes + i, place}));
  }
}

TEST(FatTree, HasTheDistancesAndRoutesOfItsFormula) {
  const std::vector<int64_t> down{3, 2, 4}, up{1, 2, 3};
  const Fabric fabric = must_parse(fat_tree("3, 2, 4", "1, 2, 3"));
  EXPECT_EQ(fabric.size(), 24);
  EXPECT_EQ(fabric.devices() - fabric.size(), 8 + 4 * 2 + 2 * 3);  // leaves, tops of pods, cores
  EXPECT_EQ(fabric.link_count(), 2u * (24 + 8 * 2 + 8 * 3));
  for (int64_t from = 0; from < fabric.size(); ++from)
    for (int64_t to = 0; to < fabric.size(); ++to) {
      // Up to the first common subtree, and down again; on the way up each level leaves a choice.
      uint32_t hops = 0;
      double routes = 1;
      for (int64_t a = from, b = to, level = 0; a != b; ++level) {
        a /= down[static_cast<size_t>(level)];
        b /= down[static_cast<size_t>(level)];
        routes *= static_cast<double>(up[static_cast<size_t>(level)]);
        hops += 2;
      }
      EXPECT_EQ(fabric.path(from, to).links, hops);
      if (from == to) continue;
      EXPECT_EQ(fabric.graph->by_link->paths(from, to), routes);
    }
  // Groups in equivalent places are priced once.
  const auto all = samples();
  for (auto [sample, end] = all.equal_range("FatTree"); sample != end; ++sample)
    EXPECT_TRUE(must_parse(sample->second).graph->places.has_value()) << sample->second;
}

/// Every pair of ranks, and each router's cables to other groups.
void passes_one_link(const Fabric& fabric, int64_t routers, int64_t ranks, int64_t groups) {
  EXPECT_EQ(fabric.size(), groups * routers * ranks);
  EXPECT_EQ(fabric.link_count(), 2u * (72 + 9 * 6 + 36));
  std::map<int64_t, int64_t> ports;  // to other groups, by router
  for (LinkId id = 0; id < fabric.link_count(); ++id) {
    const int64_t from = fabric.link(id).from - fabric.size(), to = fabric.link(id).to - fabric.size();
    if (from >= 0 && to >= 0 && from / routers != to / routers) ++ports[from];
  }
  ASSERT_EQ(ports.size(), static_cast<size_t>(groups * routers));
  for (const auto& [router, used] : ports) EXPECT_EQ(used, 2);
  for (int64_t from = 0; from < fabric.size(); ++from)
    for (int64_t to = 0; to < fabric.size(); ++to) {
      const auto group = [&](int64_t rank) { return rank / ranks / routers; };
      std::vector<LinkId> route;
      fabric.route(from, to, route);
      int64_t between_groups = 0;
      for (const LinkId id : route) {
        const Link link = fabric.link(id);
        if (link.from < fabric.size() || link.to < fabric.size()) continue;
        between_groups += (link.from - fabric.size()) / routers != (link.to - fabric.size()) / routers;
      }
      EXPECT_EQ(between_groups, group(from) != group(to));
      EXPECT_LE(route.size(), group(from) == group(to) ? 3u : 5u);
    }
}

/// Minimal routes are local, global, local. By hops alone, two global links over one router of a third group are
/// shorter; by latency they are not, if a global cable takes longer than two local ones.
TEST(Dragonfly, PassesOneLinkBetweenGroups) {
  const int64_t routers = 4, ranks = 2, groups = 9;
  const std::string plain = dragonfly(routers, ranks, 2, groups);
  std::string far = plain + "metric: latency\n";
  far.replace(far.find("latency: 500"), 12, "latency: [100, 100, 300]");
  EXPECT_EQ(must_parse(plain).graph->metric, Metric::groups);
  EXPECT_EQ(must_parse(plain + "metric: groups\n").graph->metric, Metric::groups);
  EXPECT_EQ(tag_of(fat_tree("4, 2", "1, 2") + "metric: groups\n"), "net.file.value");
  for (const std::string& text : {plain, far}) passes_one_link(must_parse(text), routers, ranks, groups);
}

/// A Dragonfly with fewer groups than ports: one cable for each pair of groups, as many on each router as on the
/// others.
TEST(Dragonfly, SpreadsTheCablesOfFewGroupsOverAllRouters) {
  struct Row {
    int64_t routers, global, groups;
  };
  for (const Row& row : {Row{8, 8, 33}, Row{8, 8, 30}, Row{8, 8, 65}, Row{4, 3, 2}, Row{5, 2, 9}, Row{3, 1, 3}}) {
    const Fabric fabric = must_parse(dragonfly(row.routers, 1, row.global, row.groups));
    std::vector<int64_t> cables(static_cast<size_t>(row.groups * row.routers));
    std::set<std::pair<int64_t, int64_t>> pairs;
    for (const Link& link : fabric.graph->links) {
      const int64_t from = link.from - fabric.size(), to = link.to - fabric.size();
      if (from < 0 || to < 0 || from / row.routers == to / row.routers) continue;
      ++cables[static_cast<size_t>(from)];
      EXPECT_TRUE(pairs.emplace(from / row.routers, to / row.routers).second);
    }
    EXPECT_EQ(pairs.size(), static_cast<size_t>(row.groups * (row.groups - 1)));
    const auto [least, most] = std::minmax_element(cables.begin(), cables.end());
    EXPECT_LE(*most - *least, 1);
    EXPECT_LE(*most, row.global);
  }
}

/// An all-to-all of 2,112 ranks: a cable between groups carries 64 x 64 pairs, and no link between routers carries much
/// more. All ranks of a router are equivalent, so one of each is looked at.
TEST(Dragonfly, CarriesAnAllToAllAtTheRateOfItsCables) {
  constexpr int64_t kRanks = 8, kRouters = 8;
  const Fabric fabric = must_parse(dragonfly(kRouters, kRanks, 8, 33));
  ASSERT_EQ(fabric.size(), 2112);
  std::vector<double> pairs(fabric.trunk_count());
  std::vector<Use> uses;
  for (int64_t from = 0; from < fabric.size(); from += kRanks)
    for (int64_t to = 0; to < fabric.size(); to += kRanks) {
      if (from == to) continue;
      uses.clear();
      fabric.uses(from, to, 0, uses);
      for (const Use& use : uses) pairs[use.trunk] += use.share * kRanks * kRanks;
    }
  double local = 0, global = 0;
  std::vector<LinkId> links;
  for (TrunkId t = 0; t < fabric.trunk_count(); ++t) {
    links.clear();
    fabric.links_of(t, links);
    const Link link = fabric.link(links[0]);
    if (link.from < fabric.size() || link.to < fabric.size()) continue;
    const bool same = fabric.graph->groups[link.from] == fabric.graph->groups[link.to];
    (same ? local : global) = std::max(same ? local : global, pairs[t] / static_cast<double>(links.size()));
  }
  EXPECT_EQ(global, 64 * 64);
  EXPECT_EQ(local, 2 * 4 * 8 * 64 + 8 * 8);  // 4 groups on each router, there and back, and the own group
}

TEST(Rails, StayOnTheirLeaf) {
  const int64_t ranks = 4, nodes = 3, pods = 2, spines = 5;
  const Fabric fabric = must_parse(rails(ranks, nodes, pods, spines));
  EXPECT_EQ(fabric.size(), 24);
  EXPECT_EQ(fabric.devices() - fabric.size(), 6 + 8 + 5);
  for (int64_t from = 0; from < fabric.size(); ++from)
    for (int64_t to = 0; to < fabric.size(); ++to) {
      if (from == to) continue;
      const bool same_node = from / ranks == to / ranks, same_pod = from / ranks / nodes == to / ranks / nodes;
      const bool near = same_node || (same_pod && from % ranks == to % ranks);
      EXPECT_EQ(fabric.path(from, to).links, near ? 2u : 4u) << from << " to " << to;
      EXPECT_EQ(fabric.graph->by_link->paths(from, to), near ? 1 : 5);
    }
  // Without spines a rank of the sender's node or of the receiver's passes on what changes the rail.
  const Fabric only = must_parse(rails(ranks, nodes, 1, 0));
  EXPECT_EQ(only.path(0, ranks).links, 2u);
  EXPECT_EQ(only.path(0, ranks + 1).links, 4u);
  EXPECT_EQ(only.graph->by_link->paths(0, ranks + 1), 2);
  EXPECT_EQ(tag_of("forwarding: false\n" + rails(ranks, nodes, 1, 0)), "net.graph.unreachable");
  EXPECT_EQ(tag_of(rails(ranks, nodes, 2, 0)), "net.graph.unreachable");
}

// ---- messages ------------------------------------------------------------------------------------------

template <class Network>
double last_arrival(Network network, const std::vector<Message>& messages) {
  for (const Message& m : messages) network.send(0, m);
  std::vector<Delivery> done;
  while (network.next_event_time() != kNever) network.advance_to(kNever, done);
  Picoseconds last = 0;
  for (const Delivery& d : done) last = std::max(last, d.arrived_ps);
  EXPECT_EQ(done.size(), messages.size());
  return static_cast<double>(last);
}

/// Each rank sends to the one `by` further on: what the busiest link carries, in bytes of a rank over GB/s.
TEST(Shapes, CarryShiftsAsTheirCutsSay) {
  constexpr uint64_t kBytes = 16 << 20;
  constexpr double kPs = static_cast<double>(kBytes) / 1073741824.0 * 1e12;  // of a rank's bytes at 1 GB/s
  struct Row {
    std::string text;
    int64_t by;
    double share_per_gib;
  };
  const std::vector<Row> rows{
      // Two levels, as many links up as down, half, and faster ones: a leaf's ranks through its uplinks.
      {fat_tree("8, 4", "1, 8"), 8, 1.0 / 50},
      {fat_tree("8, 4", "1, 4"), 8, 8.0 / (4 * 50)},
      {fat_tree("8, 4", "1, 2", "[50, 400]"), 8, 1.0 / 50},
      // Three levels: within a pod at full rate, between pods a fourth.
      {fat_tree("4, 4, 4", "1, 4, 1"), 4, 1.0 / 50},
      {fat_tree("4, 4, 4", "1, 4, 1"), 16, 16.0 / (4 * 50)},
      {fat_tree("4, 4, 4", "1, 4, 4"), 16, 1.0 / 50},
      // One link to the next group carries what all its ranks send.
      {dragonfly(4, 2, 1, 5), 8, 8.0 / 50},
      // Within a node, along a rail, and from pod to pod over the spines.
      {rails(4, 4, 2, 4, "[400, 50, 50]"), 16, 4.0 / (4 * 50)},
      {rails(4, 4, 2, 1, "[400, 50, 50]"), 16, 4.0 / 50},
      {rails(4, 4, 1, 0, "[400, 50, 50]"), 4, 1.0 / 50},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const Fabric fabric = must_parse(row.text);
    std::vector<Message> messages;
    for (int64_t r = 0; r < fabric.size(); ++r)
      messages.push_back({r, (r + row.by) % fabric.size(), kBytes, static_cast<uint64_t>(r)});
    const double expected = kPs * row.share_per_gib;
    EXPECT_NEAR(last_arrival(FluidNetwork(fabric), messages), expected, 0.01 * expected);
    EXPECT_NEAR(last_arrival(PacketNetwork(fabric), messages), expected, 0.05 * expected);
  }
  // Inside a node at the node's rate.
  const Fabric fabric = must_parse(rails(4, 4, 2, 4, "[400, 50, 50]"));
  std::vector<Message> messages;
  for (int64_t r = 0; r < fabric.size(); ++r)
    messages.push_back({r, r / 4 * 4 + (r + 1) % 4, kBytes, static_cast<uint64_t>(r)});
  EXPECT_NEAR(last_arrival(FluidNetwork(fabric), messages), kPs / 400, 0.03 * kPs / 400);
}

// ---- files ---------------------------------------------------------------------------------------------

TEST(ShapeFile, RefusesWhatCannotBe) {
  const std::string good = fat_tree("4, 2", "1, 2");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(tag_of(changed("FatTree", "FatTrees")), "net.file.key");
  EXPECT_EQ(tag_of(changed("FatTree", "Ring")), "net.file.key");
  EXPECT_EQ(tag_of(changed("FatTree", "[FatTree]")), "net.file.key");  // a list is of dimensions
  EXPECT_EQ(tag_of(changed("down", "downs")), "net.file.key");
  EXPECT_EQ(tag_of(good + "slow_links: []\n"), "net.file.key");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: 4")), "net.file.value");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: []")), "net.file.value");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: [4]")), "net.file.value");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: [4, 0]")), "net.file.value");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: [4, x]")), "base.spec.type");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: [100000000, 2]")), "net.file.value");
  EXPECT_EQ(tag_of(changed("down: [4, 2]", "down: [10000000, 10000000]")), "net.graph.large");
  EXPECT_EQ(tag_of(changed("bandwidth: 50", "bandwidth: [50]")), "net.file.value");
  EXPECT_EQ(tag_of(changed("bandwidth: 50", "bandwidth: [50, 50, 50]")), "net.file.value");
  EXPECT_EQ(tag_of(changed("bandwidth: 50", "bandwidth: 0")), "net.file.value");
  EXPECT_EQ(tag_of(changed("bandwidth: 50\n", "")), "net.file.key");
  EXPECT_EQ(tag_of(changed("latency: 500", "latency: [500, -1]")), "net.file.value");
  EXPECT_EQ(tag_of(good + "metric: distance\n"), "net.file.value");
  EXPECT_EQ(tag_of(dragonfly(4, 2, 1, 6)), "net.file.value");
  EXPECT_EQ(tag_of(dragonfly(4, 2, 1, 0)), "net.file.value");
  const auto error = parse_fabric(*parse_spec(changed("FatTree", "FatTrees"), "net.yml"));
  EXPECT_NE(error.error().text.find("FatTree, Dragonfly, Rails"), std::string::npos) << error.error().text;
}

TEST(ShapeFile, TakesRoutingAndMetric) {
  const Fabric fabric = must_parse(fat_tree("4, 2", "1, 2") + "routing: ecmp\nchannels: 4\nseed: 7\nmetric: latency\n");
  EXPECT_EQ(fabric.routing.kind, Routing::ecmp);
  EXPECT_EQ(fabric.routing.channels, 4u);
  EXPECT_EQ(fabric.graph->metric, Metric::latency);
  EXPECT_EQ(fabric.describe(), "FatTree of 8 ranks, 4 switches, 24 links");
}

}  // namespace
}  // namespace chakra::net
