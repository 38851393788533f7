// Fabrics for tests: from the text of a file, of random dimensions, of random graphs.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "chakra/base/testing/testing.h"
#include "chakra/net/net.h"

namespace chakra::net::testing {

inline std::string tag_of(const std::string& text) {
  return chakra::testing::tag_of(parse_fabric(*parse_spec(text, "fabric.yml")));
}

inline Fabric must_parse(const std::string& text) {
  auto fabric = parse_fabric(*parse_spec(text, "fabric.yml"));
  EXPECT_TRUE(fabric) << fabric.error().message();
  return fabric ? *fabric : Fabric{};
}

/// Return any topologies in any number of dimensions; with `odd`, some links differ from the others.
inline Fabric random_fabric(Prng& random, int64_t most_ranks, bool odd) {
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

/// Return a connected graph: a ring of all devices in one direction, and any other links.
inline Fabric random_graph(Prng& random, bool equal_latencies) {
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

inline Path sum_of(const Fabric& fabric, const std::vector<LinkId>& route) {
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

/// Check that the route is a chain of links between the ranks, passes no device twice, and costs the same as path().
inline void check_route(const Fabric& fabric, int64_t from, int64_t to) {
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

}  // namespace chakra::net::testing
