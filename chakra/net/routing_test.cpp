// Several shortest routes: what is spread, hashed, chosen; on fabrics whose answers are known.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "chakra/net/graph.h"
#include "chakra/net/net.h"
#include "chakra/net/testing/fabrics.h"
#include "chakra/net/testing/graphs.h"

namespace chakra::net {
namespace {

using testing::dragonfly;
using testing::fat_tree;
using testing::leaf_spine;
using testing::must_parse;
using testing::tag_of;

Fabric with(Fabric fabric, std::string_view routing) {
  fabric.routing = *parse_routing(routing);
  return fabric;
}

/// All shortest routes by trying all, link by link; with equal latencies both metrics say the same.
std::vector<std::vector<LinkId>> all_routes(const Fabric& fabric, int64_t from, int64_t to, bool through_ranks) {
  std::vector<std::vector<LinkId>> ways{{}}, found;
  for (int64_t step = 0; step < fabric.devices() && found.empty(); ++step) {
    std::vector<std::vector<LinkId>> longer;
    for (const auto& way : ways) {
      const int64_t at = way.empty() ? from : fabric.link(way.back()).to;
      for (LinkId id = 0; id < fabric.link_count(); ++id) {
        const Link link = fabric.link(id);
        if (link.from != at) continue;
        longer.push_back(way);
        longer.back().push_back(id);
        if (link.to == to) found.push_back(longer.back());
        if (link.to == to || (link.to < fabric.size() && !through_ranks)) longer.pop_back();
      }
    }
    ways = std::move(longer);
  }
  return found;
}

/// Dimension by dimension; to the opposite place of a ring both ways.
std::vector<std::vector<LinkId>> all_dimension_routes(const Fabric& fabric, int64_t from, int64_t to) {
  std::vector<std::vector<LinkId>> routes{{}};
  int64_t at = from, stride = 1;
  for (const Dimension& d : fabric.dimensions) {
    const int64_t a = at / stride % d.ranks, b = to / stride % d.ranks, up = (b - a + d.ranks) % d.ranks;
    std::vector<std::vector<LinkId>> longer;
    for (const int64_t step : {1, -1}) {
      const int64_t hops = step == 1 ? up : d.ranks - up;
      if (2 * hops > d.ranks || (up == 0 && step == -1)) continue;
      for (std::vector<LinkId> route : routes) {
        for (int64_t k = 0, c = a; k < hops; ++k) {
          const int64_t next = (c + step + d.ranks) % d.ranks;
          route.push_back(fabric.link_between(at + (c - a) * stride, at + (next - a) * stride));
          c = next;
        }
        longer.push_back(std::move(route));
      }
    }
    routes = std::move(longer);
    at += (b - a) * stride;
    stride *= d.ranks;
  }
  return routes;
}

/// The share of each link, by links.
std::map<LinkId, double> by_link(const Fabric& fabric, const std::vector<Use>& uses) {
  std::map<LinkId, double> shares;
  std::vector<LinkId> links;
  for (const Use& use : uses) {
    links.clear();
    fabric.links_of(use.trunk, links);
    for (const LinkId id : links) shares[id] += use.share / static_cast<double>(links.size());
  }
  return shares;
}

/// A connected graph with switches, some of which are in equivalent places.
Fabric random_graph(Prng& random) {
  const int64_t ranks = random.between(2, 7), switches = random.between(1, 6), devices = ranks + switches;
  std::set<std::pair<int64_t, int64_t>> joined;
  for (int64_t r = 0; r < ranks; ++r) joined.insert({r, ranks + random.between(0, switches - 1)});
  for (int64_t s = 1; s < switches; ++s) joined.insert({ranks + random.between(0, s - 1), ranks + s});
  for (int64_t i = random.between(0, 2 * devices); i-- > 0;)
    if (const auto [a, b] = std::minmax({random.between(0, devices - 1), random.between(0, devices - 1)}); a != b)
      joined.insert({a, b});
  std::string text = fmt::format("ranks: {}\nswitches: {}\nmetric: {}\nlinks:\n", ranks, switches,
                                 random.chance(0.3) ? "latency" : "hops");
  for (const auto& [a, b] : joined)
    text += fmt::format("- {{from: {}, to: {}, bandwidth: {}, latency: 500}}\n", a, b, random.chance(0.7) ? 50 : 25);
  return must_parse(text);
}

/// The shares of links by the formula of shortest_paths.h, over routes that are written out. `limited`: the links into
/// the receiver limit, since there are several, or ranks pass the message on.
class WeighedRoutes {
 public:
  WeighedRoutes(const Fabric& fabric, const std::vector<std::vector<LinkId>>& routes, int64_t to, bool limited)
      : fabric_(fabric), to_(to), limited_(limited) {
    for (const auto& route : routes)
      for (const LinkId id : route) from_[fabric.link(id).from].insert(id);
  }
  /// Paths, and the sum of their weights.
  std::pair<double, double> weigh(int64_t device) const {
    double paths = 0, weight = 0;
    for (const LinkId id : from_.at(device)) {
      const auto [p, w] = weigh_link(id);
      paths += p;
      weight += w;
    }
    return {paths, weight};
  }
  void share(int64_t device, double share, std::map<LinkId, double>& out) const {
    if (device == to_) return;
    for (const LinkId id : from_.at(device)) {
      const double part = share * weigh_link(id).second / weigh(device).second;
      out[id] += part;
      this->share(fabric_.link(id).to, part, out);
    }
  }

 private:
  std::pair<double, double> weigh_link(LinkId id) const {
    const Link link = fabric_.link(id);
    if (link.to == to_) return {1, limited_ ? link.bytes_per_s : 1e30};
    const auto [paths, weight] = weigh(link.to);
    return {paths, paths * std::min(link.bytes_per_s, weight / paths)};
  }

  const Fabric& fabric_;
  const int64_t to_;
  const bool limited_;
  std::map<int64_t, std::set<LinkId>> from_;
};

TEST(Spread, SharesAMessageAmongAllShortestRoutesByTheirWeights) {
  Prng random(21);
  std::vector<Fabric> fabrics{must_parse(leaf_spine(3, 2, 4)), must_parse(fat_tree(4)), must_parse(dragonfly(2, 1, 2)),
                              Fabric{{{TopologyKind::ring, 6, 50, 500}, {TopologyKind::torus, 4, 25, 700}}}};
  for (int i = 0; i < 60; ++i) fabrics.push_back(random_graph(random));
  int several = 0, uneven = 0;
  for (const Fabric& fabric : fabrics)
    for (int64_t from = 0; from < fabric.size(); ++from)
      for (int64_t to = 0; to < fabric.size(); ++to) {
        if (from == to) continue;
        std::map<LinkId, double> expected;
        auto routes = fabric.graph ? all_routes(fabric, from, to, false) : all_dimension_routes(fabric, from, to);
        const bool through = routes.empty();
        if (through) routes = all_routes(fabric, from, to, true);
        Picoseconds longest = 0;
        std::set<double> rates;
        for (const auto& route : routes) {
          Picoseconds latency = 0;
          for (const LinkId id : route) {
            expected[id] += 1.0 / static_cast<double>(routes.size());
            latency += fabric.link(id).latency_ps;
            rates.insert(fabric.link(id).bytes_per_s);
          }
          longest = std::max(longest, latency);
        }
        if (rates.size() > 1 && routes.size() > 1) {
          size_t ports = 0;
          for (LinkId id = 0; id < fabric.link_count(); ++id) ports += fabric.link(id).to == to;
          const bool port = ports == 1 && fabric.link(routes[0].back()).from >= fabric.size();
          expected.clear();
          WeighedRoutes(fabric, routes, to, through || !port).share(from, 1, expected);
          ++uneven;
        }
        several += routes.size() > 1;
        std::vector<Use> uses;
        EXPECT_EQ(fabric.uses(from, to, 0, uses), longest);
        const auto shares = by_link(fabric, uses);
        ASSERT_EQ(shares.size(), expected.size()) << fabric.describe() << ": " << from << " to " << to;
        for (const auto& [id, share] : expected) EXPECT_NEAR(shares.at(id), share, 1e-12);
        // The parts of packets are those routes, with the same shares.
        Ways ways;
        fabric.ways(from, to, 0, UINT32_MAX, 0, {}, ways);
        EXPECT_EQ(ways.parts(), routes.size());
        std::set<std::vector<LinkId>> found;
        for (size_t p = 0; p < ways.parts(); ++p) {
          found.emplace(ways.links.begin() + ways.first[p], ways.links.begin() + ways.first[p + 1]);
          for (uint32_t k = ways.first[p]; k < ways.first[p + 1]; ++k) expected[ways.links[k]] -= ways.share(p);
        }
        for (const auto& [id, rest] : expected) EXPECT_NEAR(rest, 0, 1e-9);
        EXPECT_EQ(found, std::set<std::vector<LinkId>>(routes.begin(), routes.end()));
      }
  EXPECT_GT(several, 500);
  EXPECT_GT(uneven, 100);
}

TEST(Trunks, JoinWhatStandsAlike) {
  // 2 links of each host, and one trunk up and one down for each leaf.
  EXPECT_EQ(must_parse(leaf_spine(16, 8, 8)).trunk_count(), 2u * 128 + 2 * 16);
  // Hosts, edges to their pod's aggregation switches, pods to the cores.
  EXPECT_EQ(must_parse(fat_tree(8)).trunk_count(), 2u * 128 + 2 * 32 + 2 * 8);
  EXPECT_TRUE(must_parse(leaf_spine(16, 8, 8)).graph->places.has_value());
  EXPECT_TRUE(must_parse(fat_tree(8)).graph->places.has_value());
  EXPECT_FALSE(must_parse(dragonfly(2, 1, 2)).graph->places.has_value());
}

TEST(Trunks, EqualPlacementMeansEqualPricesOnTheTrunks) {
  Prng random(22);
  for (const Fabric& fabric : {must_parse(leaf_spine(5, 3, 4)), must_parse(fat_tree(4))}) {
    // What two messages cost alone, and on how many trunks they meet.
    const auto looks = [&](const std::vector<int64_t>& ranks) {
      std::vector<Use> a, b;
      const Picoseconds one = fabric.uses(ranks[0], ranks[1], 0, a), two = fabric.uses(ranks[2], ranks[3], 0, b);
      double met = 0;
      for (const Use& x : a)
        for (const Use& y : b)
          if (x.trunk == y.trunk) met += x.share * y.share / fabric.trunk(x.trunk).bytes_per_s;
      return std::tuple(one, two, a.size(), b.size(), met);
    };
    std::map<std::vector<int64_t>, std::vector<int64_t>> known;
    int moved = 0;
    for (int i = 0; i < 20000; ++i) {
      std::vector<int64_t> ranks(4);
      for (int64_t& r : ranks) r = random.between(0, fabric.size() - 1);
      const auto [first, added] = known.emplace(fabric.placement(ranks), ranks);
      if (added) continue;
      moved += first->second != ranks;
      EXPECT_EQ(looks(first->second), looks(ranks));
    }
    EXPECT_GT(moved, 1000);
  }
}

/// Eight flows from leaf to leaf over eight spines. All 8^8 ways in which they may fall, counted outside the program
/// (partitions of 8, each with its number of ways): the largest load of a spine has this mean and standard deviation.
constexpr double kMeanOfMost = 2.5972328, kDeviationOfMost = 0.6846577;

TEST(Ecmp, HashesLikeChance) {
  constexpr int kSeeds = 200;
  const Fabric fabric = must_parse(leaf_spine(2, 8, 8));
  for (const bool up : {true, false}) {
    double sum = 0, squares = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const Fabric hashed = with(fabric, fmt::format("ecmp,seed={}", seed));
      std::map<uint32_t, int> load;  // by spine
      for (int64_t f = 0; f < 8; ++f) {
        Ways ways;
        hashed.ways(f, 8 + f, 0, 1, 0, {}, ways);
        ASSERT_EQ(ways.links.size(), 4u);
        ++load[up ? hashed.link(ways.links[1]).to : hashed.link(ways.links[2]).from];
      }
      int most = 0;
      for (const auto& [spine, flows] : load) most = std::max(most, flows);
      sum += most;
      squares += most * most;
    }
    const double mean = sum / kSeeds, deviation = std::sqrt(squares / kSeeds - mean * mean);
    EXPECT_NEAR(mean, kMeanOfMost, 3 * kDeviationOfMost / std::sqrt(kSeeds));
    EXPECT_NEAR(deviation, kDeviationOfMost, 0.2 * kDeviationOfMost);
  }
}

/// Flows that share one leaf's uplinks to eight different leaves: their downlinks are alone, so 8 in 8 again; and from
/// eight leaves to one, where the downlinks of the spines are the ones that meet.
TEST(Ecmp, UplinksAndDownlinksMeetByChance) {
  constexpr int kSeeds = 200;
  const Fabric fabric = must_parse(leaf_spine(9, 8, 8));
  for (const bool gather : {false, true}) {
    double sum = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const Fabric hashed = with(fabric, fmt::format("ecmp,seed={}", 1000 + seed));
      std::map<LinkId, int> load;
      for (int64_t f = 0; f < 8; ++f) {
        Ways ways;
        const int64_t near = f, far = (f + 1) * 8;
        hashed.ways(gather ? far : near, gather ? near : far, 0, 1, 0, {}, ways);
        ++load[ways.links[gather ? 2 : 1]];
      }
      int most = 0;
      for (const auto& [link, flows] : load) most = std::max(most, flows);
      sum += most;
    }
    EXPECT_NEAR(sum / kSeeds, kMeanOfMost, 3 * kDeviationOfMost / std::sqrt(kSeeds));
  }
}

TEST(Ecmp, AFlowKeepsItsWayAndOthersGetTheirs) {
  const Fabric fabric = with(must_parse(leaf_spine(2, 2, 16)), "ecmp,channels=4,seed=3");
  Ways first, again, other;
  fabric.ways(0, 2, 5, 64, 0, {}, first);
  fabric.ways(0, 2, 5, 64, 99, {}, again);
  fabric.ways(0, 2, 6, 64, 0, {}, other);
  EXPECT_EQ(first.parts(), 4u);
  EXPECT_EQ(first.links, again.links);
  EXPECT_NE(first.links, other.links);
  double all = 0;
  std::vector<Use> uses;
  fabric.uses(0, 2, 5, uses);
  std::set<TrunkId> once;
  for (const Use& use : uses) {
    EXPECT_TRUE(once.insert(use.trunk).second);
    all += use.share;
  }
  EXPECT_NEAR(all, 4, 1e-12);  // each part passes four links
}

// ---- messages ------------------------------------------------------------------------------------------

/// When the last of some messages arrives.
template <class Network>
Picoseconds last_arrival(Network network, const std::vector<Message>& messages) {
  for (const Message& m : messages) network.send(0, m);
  std::vector<Delivery> done;
  Picoseconds last = 0;
  size_t arrived = 0;
  while (network.next_event_time() != kNever) {
    network.advance_to(kNever, done);
    for (const Delivery& d : done)
      if (d.arrived_ps != kNever) last = std::max(last, d.arrived_ps), ++arrived;
    done.clear();
  }
  EXPECT_EQ(arrived, messages.size());
  return last;
}

std::vector<Message> shift(int64_t ranks, int64_t by, uint64_t bytes) {
  std::vector<Message> messages;
  for (int64_t r = 0; r < ranks; ++r) messages.push_back({r, (r + by) % ranks, bytes, static_cast<uint64_t>(r)});
  return messages;
}

constexpr double kRate = 50 * 1073741824.0;
double push_ps(double bytes) { return bytes / kRate * 1e12; }

/// Closed forms: non-blocking fabrics carry any shift at the hosts' rate; with k times less above, k times as long.
TEST(Networks, FabricsAgainstClosedForms) {
  const uint64_t bytes = 16 << 20;
  struct Row {
    std::string text;
    int64_t by;
    double slower;
  };
  for (const Row& row : {Row{leaf_spine(4, 8, 8), 8, 1}, Row{leaf_spine(4, 8, 4), 8, 2}, Row{leaf_spine(4, 8, 1), 8, 8},
                         Row{fat_tree(4), 8, 1}, Row{fat_tree(8), 64, 1}, Row{leaf_spine(4, 8, 1), 1, 1}}) {
    const Fabric fabric = must_parse(row.text);
    const auto messages = shift(fabric.size(), row.by, bytes);
    const double expected = push_ps(static_cast<double>(bytes)) * row.slower;
    EXPECT_NEAR(static_cast<double>(last_arrival(FluidNetwork(fabric), messages)), expected, 0.01 * expected);
    EXPECT_NEAR(static_cast<double>(last_arrival(PacketNetwork(fabric), messages)), expected, 0.05 * expected);
  }
  // From each rank of a dragonfly group to the next group: one link between the groups carries all.
  const Fabric fly = must_parse(dragonfly(4, 2, 1));
  const auto messages = shift(fly.size(), 8, bytes);
  const double expected = push_ps(static_cast<double>(bytes)) * 8;
  EXPECT_NEAR(static_cast<double>(last_arrival(FluidNetwork(fly), messages)), expected, 0.01 * expected);
  EXPECT_NEAR(static_cast<double>(last_arrival(PacketNetwork(fly), messages)), expected, 0.05 * expected);
}

TEST(Networks, AdaptiveMessagesAvoidEachOther) {
  const uint64_t bytes = 8 << 20;
  const Fabric fabric = must_parse(leaf_spine(2, 8, 8));
  std::vector<Message> messages;
  for (int64_t f = 0; f < 8; ++f) messages.push_back({f, 8 + f, bytes, static_cast<uint64_t>(f)});
  const double alone = push_ps(static_cast<double>(bytes));
  const auto time = [&](const char* routing, auto network) {
    return static_cast<double>(last_arrival(network(with(fabric, routing)), messages)) / alone;
  };
  // Each on a separate spine; all on the first spine; by the hash at least two on one.
  const auto check = [&](auto network) {
    EXPECT_NEAR(time("adaptive", network), 1, 0.02);
    EXPECT_NEAR(time("spread", network), 1, 0.02);
    EXPECT_NEAR(time("single", network), 8, 0.1);
    EXPECT_GT(time("ecmp,seed=1", network), 1.9);
    EXPECT_LT(time("ecmp,seed=1,channels=64", network), time("ecmp,seed=1", network));
  };
  static Fabric kept;
  check([](Fabric f) { return FluidNetwork(kept = std::move(f)); });
  check([](Fabric f) { return PacketNetwork(kept = std::move(f)); });
}

TEST(Networks, LinksTellWhatTheyCarried) {
  const uint64_t bytes = 8 << 20;
  const Fabric fabric = must_parse(leaf_spine(2, 1, 8));
  FluidNetwork fluid(fabric);
  PacketNetwork packet(fabric);
  std::vector<Delivery> done;
  const auto run = [&](auto& network) {
    network.send(0, {0, 1, bytes, 0});
    while (network.next_event_time() != kNever) network.advance_to(kNever, done);
    uint64_t spines = 0;
    for (const LinkTotal& total : network.totals()) {
      const Link link = fabric.link(total.link);
      const bool host = link.from < 2 || link.to < 2;
      EXPECT_EQ(total.bytes, host ? bytes : bytes / 8);
      spines += !host;
    }
    EXPECT_EQ(spines, 16u);
  };
  run(fluid);
  run(packet);
}

// ---- files ---------------------------------------------------------------------------------------------

TEST(RoutingFile, RefusesWhatCannotBe) {
  const std::string graph = leaf_spine(2, 1, 2);
  const auto changed = [&](const std::string& routing) {
    std::string text = graph;
    return text.replace(text.find("routing: spread"), 15, routing);
  };
  EXPECT_EQ(tag_of(changed("routing: fast")), "net.routing");
  EXPECT_EQ(tag_of(changed("routing: ecmp\nchannels: 0")), "net.routing");
  EXPECT_EQ(tag_of(changed("routing: ecmp\nchannels: 257")), "net.routing");
  EXPECT_EQ(tag_of(changed("routing: ecmp\nseed: -1")), "net.routing");
  EXPECT_EQ(tag_of(changed("routing: ecmp,channels=x")), "net.routing");
  EXPECT_EQ(tag_of(changed("routing: [ecmp]")), "base.spec.type");
  EXPECT_EQ(tag_of(changed("metric: distance")), "net.file.value");
  EXPECT_EQ(tag_of(changed("forwarding: perhaps")), "base.spec.type");
  const auto error = parse_fabric(*parse_spec(changed("routing: fast"), "net.yml"));
  EXPECT_EQ(error.error().place.line, 3);
  Findings findings;
  ASSERT_TRUE(parse_fabric(*parse_spec(changed("routing: single\nchannels: 2"), "net.yml"), &findings));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "net.file.unknown_key");
}

TEST(RoutingFile, RanksForwardOnlyWhereTheyMust) {
  // 0 - 1 - 2 in a line, and a way round over three switches from 0 to 2.
  const std::string text =
      "ranks: 3\nswitches: 3\nlinks:\n- {from: 0, to: 1, bandwidth: 50, latency: 1}\n"
      "- {from: 1, to: 2, bandwidth: 50, latency: 1}\n- {from: 0, to: 3, bandwidth: 50, latency: 1}\n"
      "- {from: 3, to: 4, bandwidth: 50, latency: 1}\n- {from: 4, to: 5, bandwidth: 50, latency: 1}\n"
      "- {from: 5, to: 2, bandwidth: 50, latency: 1}\n";
  EXPECT_EQ(must_parse(text).path(0, 2).links, 4u);
  EXPECT_EQ(must_parse(text).path(0, 1).links, 1u);
  EXPECT_EQ(must_parse("forwarding: false\n" + text).path(0, 2).links, 4u);
  const std::string line =
      "ranks: [a, b, c]\nlinks:\n- {from: a, to: b, bandwidth: 50, latency: 1}\n"
      "- {from: b, to: c, bandwidth: 50, latency: 1}\n";
  EXPECT_EQ(must_parse(line).path(0, 2).links, 2u);
  const auto refused = parse_fabric(*parse_spec("forwarding: false\n" + line, "net.yml"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().tag, "net.graph.unreachable");
  EXPECT_NE(refused.error().text.find("'a'"), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("'c'"), std::string::npos) << refused.error().text;
}

}  // namespace
}  // namespace chakra::net
