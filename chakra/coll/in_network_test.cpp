// Switches that reduce: what their links carry, and how long it takes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using testing::first_ranks;
using testing::kBytes;
using trace::CommType;

constexpr double kGiB = 1073741824.0;

net::Fabric parse(const std::string& text) { return *net::parse_fabric(*parse_spec(text, "net.yml")); }
net::Fabric star(int64_t n, const std::string& more) {
  return parse(fmt::format("topology: [Switch]\nnpus_count: [{}]\nbandwidth: [50]\nlatency: [500]\n{}", n, more));
}
bool can(const char* name, const net::Fabric& net, const std::vector<int64_t>& ranks) {
  return find_algorithm(name)->can({CommType::all_reduce, kBytes, 0, {}}, {&net, ranks});
}

/// When the last of these ranks ends.
double seconds(const char* name, CommType type, const net::Fabric& net, const std::vector<int64_t>& ranks,
               uint64_t bytes = kBytes) {
  const Place place{&net, ranks};
  const Plan plan = find_algorithm(name)->plan({type, bytes, 0, {}}, place);
  std::vector<Picoseconds> ready(ranks.size(), 0);
  run_closed(plan, place, ready);
  return static_cast<double>(*std::max_element(ready.begin(), ready.end())) * 1e-12;
}

/// Bytes by link, as "from to".
std::map<std::string, double> loads(const net::Fabric& net, const std::vector<int64_t>& ranks, CommType type) {
  const Plan plan = find_algorithm("in_network")->plan({type, kBytes, 0, {}}, {&net, ranks});
  std::map<std::string, double> all;
  std::vector<net::Use> uses;
  std::vector<net::LinkId> links;
  for (const Round& round : plan.rounds)
    each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
      uses.clear();
      net.uses(ranks[from], ranks[to], 0, uses);
      for (const net::Use& use : uses) {
        links.clear();
        net.links_of(use.trunk, links);
        for (const net::LinkId id : links)
          all[fmt::format("{} {}", net.device_name(net.link(id).from), net.device_name(net.link(id).to))] +=
              static_cast<double>(bytes) * use.share / static_cast<double>(links.size());
      }
    });
  return all;
}

constexpr double kWithin = 0.5e-9;

TEST(InNetwork, TakesTheClosedFormOnOneSwitch) {
  for (const uint32_t n : {2u, 3u, 6u, 8u, 16u})
    for (const double rate : {50.0, 30.0, 400.0}) {
      const net::Fabric net = star(n, fmt::format("reduction: [{{bandwidth: {}, latency: 700}}]\n", rate));
      const double B = std::min(50.0, rate) * kGiB, L = 1000e-9, l = 700e-9, S = static_cast<double>(kBytes), m = n;
      const std::vector<int64_t> ranks = first_ranks(n);
      EXPECT_NEAR(seconds("in_network", CommType::all_reduce, net, ranks), 2 * L + l + S * (1 + 1 / m) / B, kWithin);
      EXPECT_NEAR(seconds("in_network", CommType::reduce_scatter, net, ranks), L + l + S / B, kWithin);
      EXPECT_NEAR(seconds("in_network", CommType::all_gather, net, ranks), L + l + m * S / B, kWithin);
    }
}

/// No member has a result before the slowest port has sent its part.
TEST(InNetwork, NobodyEndsBeforeTheSlowestPort) {
  const net::Fabric star_of_4 = star(4, "slow_links: [{from: 3, to: 4, bandwidth: 1}]\nreduction: [{bandwidth: 40}]\n");
  const net::Fabric tree = parse(
      "topology: FatTree\ndown: [4, 2]\nup: [1, 1]\nbandwidth: [50, 1]\nlatency: 500\nreduction: {bandwidth: 40}\n");
  for (const net::Fabric* net : {&star_of_4, &tree})
    for (const CommType type : {CommType::all_reduce, CommType::reduce_scatter, CommType::all_gather}) {
      const std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net->size()));
      const Place place{net, ranks};
      const Plan plan = find_algorithm("in_network")->plan({type, kBytes, 0, {}}, place);
      std::vector<Picoseconds> ready(ranks.size(), 0);
      run_closed(plan, place, ready);
      // The slow link alone: each member's own part of the sums, or of the results.
      const double least = static_cast<double>(kBytes) / kGiB * (type == CommType::all_gather ? 1 : 0.5);
      for (const Picoseconds end : ready) EXPECT_GE(static_cast<double>(end) * 1e-12, least) << trace::name(type);
    }
}

TEST(InNetwork, TheSlowestPortDecides) {
  const net::Fabric net = star(4, "slow_links: [{from: 2, to: 4, bandwidth: 20}]\nreduction: [{bandwidth: 30}]\n");
  EXPECT_NEAR(seconds("in_network", CommType::all_reduce, net, first_ranks(4)),
              2e-6 + static_cast<double>(kBytes) * 1.25 / (20 * kGiB), kWithin);
}

TEST(InNetwork, WaitsForTheLastMember) {
  const net::Fabric net = star(4, "reduction: [{bandwidth: 50}]\n");
  const std::vector<int64_t> ranks = first_ranks(4);
  const Place place{&net, ranks};
  const Plan plan = find_algorithm("in_network")->plan({CommType::all_reduce, kBytes, 0, {}}, place);
  std::vector<Picoseconds> together(4, 0), apart{0, 7'000'000'000, 0, 1};
  run_closed(plan, place, together);
  run_closed(plan, place, apart);
  for (const Picoseconds end : apart) EXPECT_EQ(end, together[0] + 7'000'000'000);
}

TEST(InNetwork, LinksOfATreeCarryTheBufferOnce) {
  const net::Fabric net = parse(
      "topology: FatTree\ndown: [4, 3]\nup: [1, 2]\nbandwidth: [50, 100]\nlatency: 500\n"
      "reduction: [{bandwidth: 100, latency: 100}, {bandwidth: 100, latency: 200}]\n");
  const std::vector<int64_t> ranks = first_ranks(12);
  const double S = static_cast<double>(kBytes);
  for (const auto& [link, bytes] : loads(net, ranks, CommType::all_reduce)) {
    const bool port = link.find("switch") == link.rfind("switch");
    // From leaf to leaf go the last and the first member of a leaf.
    const bool crosses = link.starts_with("3 ") || link.starts_with("7 ") || link.starts_with("11 ") ||
                         link.ends_with(" 0") || link.ends_with(" 4") || link.ends_with(" 8");
    EXPECT_NEAR(bytes, port && !crosses ? S * 13 / 12 : port ? S : S / 2, 4) << link;
  }
  // Up two links and down two, twice; leaf, spine, leaf.
  EXPECT_NEAR(seconds("in_network", CommType::all_reduce, net, ranks), 4e-6 + 400e-9 + S * 13 / 12 / (50 * kGiB),
              kWithin);
  // In any order of the members.
  const std::vector<int64_t> mixed{3, 9, 0, 5, 11, 1, 8, 2, 4, 10, 7, 6};
  EXPECT_EQ(loads(net, mixed, CommType::all_reduce), loads(net, ranks, CommType::all_reduce));
}

/// The sums need the way up of the slowest member, and the results its way down, wherever it is in the group.
TEST(InNetwork, TheSlowestWayDecidesInAnyOrder) {
  std::string star = "ranks: 4\nswitches: [s]\nlinks:\n";
  for (const auto& [rank, ns] : {std::pair(0, 300), std::pair(1, 300), std::pair(2, 1400), std::pair(3, 1100)})
    star += fmt::format("- {{from: {}, to: s, bandwidth: 50, latency: {}}}\n", rank, ns);
  const net::Fabric one = parse(star + "reduction: {bandwidth: 50}\n");
  const double S = static_cast<double>(kBytes);
  for (const std::vector<int64_t>& ranks : {first_ranks(4), {2, 0, 3, 1}, {2, 3, 0, 1}, {1, 2, 0, 3}})
    EXPECT_NEAR(seconds("in_network", CommType::all_reduce, one, ranks), 2 * 2800e-9 + S * 1.25 / (50 * kGiB), kWithin);
  // Rank 0 on the root, 2 us away; the others on a leaf, 1.5 us away.
  const net::Fabric uneven = parse(
      "ranks: 3\nswitches: [root, leaf]\nlinks:\n- {from: 0, to: root, bandwidth: 50, latency: 2000}\n"
      "- {from: 1, to: leaf, bandwidth: 50, latency: 500}\n- {from: 2, to: leaf, bandwidth: 50, latency: 500}\n"
      "- {from: leaf, to: root, bandwidth: 50, latency: 1000}\nreduction: {bandwidth: 50}\n");
  for (const std::vector<int64_t>& ranks : {first_ranks(3), {1, 0, 2}, {2, 1, 0}})
    EXPECT_NEAR(seconds("in_network", CommType::reduce_scatter, uneven, ranks), 4e-6 + S / (50 * kGiB), kWithin);
}

TEST(InNetwork, UplinksDecideWhereTheyAreNarrow) {
  const net::Fabric net = parse(
      "topology: FatTree\ndown: [4, 3]\nup: [1, 1]\nbandwidth: [50, 10]\nlatency: 0\nreduction: {bandwidth: 100}\n");
  EXPECT_NEAR(seconds("in_network", CommType::all_reduce, net, first_ranks(12)),
              static_cast<double>(kBytes) / (10 * kGiB), kWithin);
  const net::Fabric slow = parse(
      "topology: FatTree\ndown: [4, 3]\nup: [1, 1]\nbandwidth: [50, 50]\nlatency: 0\n"
      "reduction: [{bandwidth: 50}, {bandwidth: 5}]\n");
  EXPECT_NEAR(seconds("in_network", CommType::all_reduce, slow, first_ranks(12)),
              static_cast<double>(kBytes) / (5 * kGiB), kWithin);
}

TEST(InNetwork, NeedsATreeOfSwitchesThatReduce) {
  EXPECT_FALSE(can("in_network", star(4, ""), first_ranks(4)));
  EXPECT_FALSE(can("in_network", star(4, "reduction: [none]\n"), first_ranks(4)));
  EXPECT_TRUE(can("in_network", star(4, "reduction: [{bandwidth: 5}]\n"), {3, 1}));
  EXPECT_FALSE(can("in_network", star(4, "reduction: [{bandwidth: 5}]\n"), {3}));
  const net::Fabric grid = parse(
      "topology: [Switch, Switch, Ring]\nnpus_count: [4, 2, 2]\nbandwidth: [50, 50, 50]\nlatency: [0, 0, 0]\n"
      "reduction: {bandwidth: 50}\n");
  EXPECT_TRUE(can("in_network", grid, {4, 5, 6}));
  EXPECT_TRUE(can("in_network", grid, {1, 5}));
  EXPECT_FALSE(can("in_network", grid, {0, 8}));          // round a ring
  EXPECT_FALSE(can("in_network", grid, first_ranks(8)));  // ranks join the switches
  EXPECT_TRUE(can("hierarchical_in_network", grid, first_ranks(8)));
  const net::Fabric rails = parse(
      "topology: Rails\nranks_per_node: 4\nnodes: 2\npods: 1\nspines: 2\nbandwidth: 50\nlatency: 0\n"
      "reduction: {bandwidth: 50}\n");
  EXPECT_TRUE(can("in_network", rails, first_ranks(4)));
  EXPECT_TRUE(can("in_network", rails, {1, 5}));
  EXPECT_FALSE(can("in_network", rails, first_ranks(8)));
  const std::string leaves =
      "ranks: 4\nswitches: [a, b, top]\nlinks:\n- {from: 0, to: a, bandwidth: 5, latency: 0}\n"
      "- {from: 1, to: b, bandwidth: 5, latency: 0}\n- {from: 2, to: a, bandwidth: 5, latency: 0}\n"
      "- {from: 3, to: b, bandwidth: 5, latency: 0}\n- {from: a, to: top, bandwidth: 5, latency: 0}\n"
      "- {from: b, to: top, bandwidth: 5, latency: 0}\n";
  EXPECT_TRUE(can("in_network", parse(leaves + "reduction: {bandwidth: 5}\n"), first_ranks(4)));
  const net::Fabric one = parse(leaves + "reduction: [{switch: a, bandwidth: 5}]\n");
  EXPECT_TRUE(can("in_network", one, {0, 2}));
  EXPECT_FALSE(can("in_network", one, {1, 3}));
  EXPECT_FALSE(can("in_network", one, first_ranks(4)));
  // The placements of groups on different switches differ.
  EXPECT_NE(one.placement(std::vector<int64_t>{0, 2}), one.placement(std::vector<int64_t>{1, 3}));
}

TEST(InNetwork, ARefusalSaysWhatIsMissing) {
  const net::Fabric net = star(4, "");
  const std::vector<int64_t> ranks = first_ranks(4);
  const Operation op{CommType::all_reduce, kBytes, 0, {}};
  const auto of = [&](const char* rules) { return refusal(*parse_selection(rules), op, {&net, ranks}); };
  EXPECT_EQ(of("allreduce: in_network"),
            "in_network needs a tree of switches with 'reduction' in the network file that joins all members");
  EXPECT_EQ(of("allreduce: hierarchical_in_network"),
            "hierarchical_in_network needs members that fill a grid of two or more dimensions or of nodes, one of them "
            "with 'reduction' in the network file");
}

TEST(InNetwork, IsTakenWhereItIsTheFastest) {
  const net::Fabric net = star(8, "reduction: [{bandwidth: 50, latency: 20000}]\n");
  const std::vector<int64_t> ranks = first_ranks(8);
  const auto taken = [&](uint64_t bytes) {
    return choose({}, {CommType::all_reduce, bytes, 0, {}}, {&net, ranks}).algorithm->name;
  };
  EXPECT_EQ(taken(uint64_t{1} << 30), "in_network");
  EXPECT_NE(taken(1), "in_network");
}

/// 8 x 4, the inner switches reduce: one chunk goes up, along the rows of four, and comes back.
TEST(HierarchicalInNetwork, TakesTheClosedFormOfOneChunk) {
  const net::Fabric net = parse(
      "topology: [Switch, Switch]\nnpus_count: [8, 4]\nbandwidth: [300, 40]\nlatency: [100, 2000]\n"
      "reduction: [{bandwidth: 200, latency: 500}, none]\n");
  const double S = 1 << 20, in = 2 * 200e-9 + 500e-9 + S * 9 / 8 / (200 * kGiB);
  const double along = 4 * 4000e-9 + 2 * 3.0 / 4 * S / 8 / (40 * kGiB);
  EXPECT_NEAR(seconds("hierarchical_in_network", CommType::all_reduce, net, first_ranks(32), 1 << 20), in + along,
              kWithin);
}

TEST(HierarchicalInNetwork, PortsCarryTheSumOfTheirChunks) {
  const net::Fabric net = parse(
      "topology: [Switch, Switch]\nnpus_count: [8, 4]\nbandwidth: [50, 400]\nlatency: [0, 0]\n"
      "reduction: [{bandwidth: 50}, none]\n");
  const double S = uint64_t{1} << 30;
  EXPECT_NEAR(seconds("hierarchical_in_network", CommType::all_reduce, net, first_ranks(32), uint64_t{1} << 30),
              S * 9 / 8 / (50 * kGiB), 0.05 * S / (50 * kGiB));
}

}  // namespace
}  // namespace chakra::coll
