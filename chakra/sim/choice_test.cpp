// The default algorithm against all rows of the table, by price and as messages over shared links.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "chakra/coll/coll.h"
#include "chakra/net/net.h"
#include "chakra/net/testing/graphs.h"
#include "chakra/sim/alone.h"

namespace chakra::sim {
namespace {

using net::TopologyKind;
using trace::CommType;

struct Place {
  std::string name;
  net::Fabric fabric;
  std::vector<int64_t> ranks;
};

std::vector<int64_t> first_ranks(int64_t n) {
  std::vector<int64_t> ranks;
  for (int64_t r = 0; r < n; ++r) ranks.push_back(r);
  return ranks;
}

/// Ranks on switches at random, switches joined at random.
net::Fabric random_graph(Prng& random) {
  const int64_t ranks = random.between(4, 12), switches = random.between(2, 6);
  std::set<std::pair<int64_t, int64_t>> joined;
  for (int64_t r = 0; r < ranks; ++r) joined.insert({r, ranks + random.between(0, switches - 1)});
  for (int64_t s = 1; s < switches; ++s) joined.insert({ranks + random.between(0, s - 1), ranks + s});
  for (int64_t i = random.between(0, ranks + switches); i-- > 0;)
    if (const auto [a, b] =
            std::minmax({random.between(0, ranks + switches - 1), random.between(0, ranks + switches - 1)});
        a != b)
      joined.insert({a, b});
  std::string text = fmt::format("ranks: {}\nswitches: {}\nlinks:\n", ranks, switches);
  for (const auto& [a, b] : joined) net::testing::link(text, std::to_string(a), std::to_string(b), 50, 500);
  return *net::parse_fabric(*parse_spec(text, "net.yml"));
}

std::vector<Place> places() {
  std::vector<Place> all;
  const auto add = [&](std::string name, net::Fabric fabric) {
    const int64_t n = fabric.size();
    all.push_back({std::move(name), std::move(fabric), first_ranks(n)});
  };
  const auto graph = [&](std::string name, const std::string& text) {
    add(std::move(name), *net::parse_fabric(*parse_spec(text, "net.yml")));
  };
  for (const net::TopologyRow& row : net::kTopologies) {
    add(fmt::format("{} of 8", row.name), {{{row.kind, 8, 50, 500}}});
    add(fmt::format("{} of 5", row.name), {{{row.kind, 5, 50, 500}}});
  }
  add("Torus of 4 x 4", {{{TopologyKind::torus, 4, 50, 500}, {TopologyKind::torus, 4, 50, 500}}});
  add("Ring of 4, Switch of 3", {{{TopologyKind::ring, 4, 200, 500}, {TopologyKind::switch_, 3, 25, 1000}}});
  add("FullyConnected of 4, Switch of 4",
      {{{TopologyKind::fully_connected, 4, 100, 500}, {TopologyKind::switch_, 4, 50, 1000}}});
  add("Switch of 8, Switch of 2", {{{TopologyKind::switch_, 8, 450, 500}, {TopologyKind::switch_, 2, 50, 2000}}});
  graph("Switch of 8 that reduces",
        "topology: [Switch]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\nreduction: [{bandwidth: 45, latency: "
        "5000}]\n");
  graph("Switch of 4 that reduces, Switch of 3",
        "topology: [Switch, Switch]\nnpus_count: [4, 3]\nbandwidth: [300, 50]\nlatency: [500, 2000]\n"
        "reduction: [{bandwidth: 200, latency: 5000}, none]\n");
  graph("fat tree that reduces",
        "topology: FatTree\ndown: [4, 4]\nup: [1, 2]\nbandwidth: [50, 50]\nlatency: 500\nreduction: {bandwidth: 40, "
        "latency: 900}\n");
  add("Mesh of 3 x 3", {{{TopologyKind::mesh, 3, 50, 500}, {TopologyKind::mesh, 3, 50, 500}}});
  graph("leaf-spine 1:1", net::testing::leaf_spine(4, 4, 4));
  graph("leaf-spine 2:1", net::testing::leaf_spine(4, 4, 2));
  graph("leaf-spine 8:1", net::testing::leaf_spine(2, 8, 1));
  graph("fat tree of 4", net::testing::fat_tree(4));
  graph("dragonfly", net::testing::dragonfly(2, 2, 1));
  Prng random(77);
  const int graphs = std::getenv("CHAKRA_TEST_FULL") ? 100 : 20;
  for (int i = 0; i < graphs; ++i) add(fmt::format("random graph {}", i), random_graph(random));
  return all;
}

constexpr std::array<uint64_t, 4> kSizes{1 << 10, 1 << 17, 1 << 23, 1 << 30};

/// CHAKRA_SHOW_CHOICES=1 prints, per row of the table, how far prices are from fluid.
TEST(Choice, IsWithinFivePercentOfTheBestRow) {
  struct Gap {
    double least = 0, most = 0, of_default = 0;
    int count = 0;
  };
  std::map<std::string, Gap> gaps;
  const bool show = std::getenv("CHAKRA_SHOW_CHOICES") != nullptr;
  for (const Place& place : places())
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
      for (const uint64_t bytes : kSizes) {
        const coll::Operation op{static_cast<CommType>(t), bytes, 0, {}};
        const coll::Place at{&place.fabric, place.ranks};
        coll::Choice choice = coll::choose({}, op, at);
        const coll::Reordered seen(op, at, choice.order);
        const auto closed = static_cast<double>(coll::price(choice.plan, seen.place).together_ps);
        choose_by_running(choice, op, at);
        const auto fluid =
            static_cast<double>(time_alone(place.fabric, Congestion::fluid, choice.plan, choice.order, place.ranks, 0));
        double best_closed = closed, best_fluid = fluid;
        std::string_view best_row;
        for (const coll::AlgorithmRow& row : coll::kAlgorithms) {
          if (!row.can(op, at)) continue;
          const coll::Plan plan = row.plan(op, at);
          const auto priced = static_cast<double>(coll::price(plan, at).together_ps);
          const auto shared =
              static_cast<double>(time_alone(place.fabric, Congestion::fluid, plan, {}, place.ranks, 0));
          best_closed = std::min(best_closed, priced);
          if (shared < best_fluid) best_row = row.name;
          best_fluid = std::min(best_fluid, shared);
          Gap& gap = gaps[std::string(row.name)];
          const double error = shared > 0 ? priced / shared - 1 : 0;
          gap.least = std::min(gap.least, error);
          gap.most = std::max(gap.most, error);
          ++gap.count;
        }
        const std::string what =
            fmt::format("{} of {} on {}: {}{}", trace::kCommTypeNames[t], show_bytes(static_cast<double>(bytes)),
                        place.name, choice.algorithm->name, choice.order.empty() ? "" : " (near)");
        EXPECT_LE(closed, 1.05 * best_closed) << what;
        if (show && fluid > 1.05 * best_fluid)
          fmt::print("{}: fluid {:.4g} us, {} {:.4g} us, {:+.1f} %; closed {:.4g}\n", what, fluid / 1e6, best_row,
                     best_fluid / 1e6, 100 * (fluid / best_fluid - 1), closed / 1e6);
        if (!show) EXPECT_LE(fluid, 1.05 * best_fluid) << what << " instead of " << best_row;
      }
  if (show)
    for (const auto& [name, gap] : gaps)
      fmt::print("{:<20} {:>5} prices: {:+.1f} % to {:+.1f} % of fluid\n", name, gap.count, 100 * gap.least,
                 100 * gap.most);
}

/// Seven links of a rank against two, and a direct link for each pair against traffic round the ring, as flows.
TEST(Choice, UsesTheLinksThereAre) {
  const std::vector<int64_t> ranks = first_ranks(8);
  const auto time = [&](TopologyKind kind, const coll::Operation& op) {
    const net::Fabric fabric{{{kind, 8, 50, 500}}};
    coll::Choice choice = coll::choose({}, op, {&fabric, ranks});
    choose_by_running(choice, op, {&fabric, ranks});
    return static_cast<double>(time_alone(fabric, Congestion::fluid, choice.plan, choice.order, ranks, 0));
  };
  for (const uint64_t bytes : {uint64_t{64} << 20, uint64_t{1} << 30})
    for (const auto& [type, factor] :
         {std::pair(CommType::all_reduce, 3.5), std::pair(CommType::all_gather, 3.5),
          std::pair(CommType::reduce_scatter, 3.5), std::pair(CommType::all_to_all, 8.0)}) {
      const coll::Operation op{type, bytes, 0, {}};
      EXPECT_NEAR(time(TopologyKind::ring, op) / time(TopologyKind::fully_connected, op), factor, 0.03 * factor)
          << trace::name(type) << " of " << bytes;
    }
}

/// One collective on leaf-spine fabrics: the price, flows and packets agree; of hierarchies as far as they say (the
/// chunks of one meet at ports, where the price lets them pass each other).
TEST(Choice, ModesAgreeOnLeafSpine) {
  for (const auto& [hosts, spines] : {std::pair(4, 4), std::pair(4, 2), std::pair(8, 1)}) {  // 1:1, 2:1, 8:1
    const net::Fabric fabric =
        *net::parse_fabric(*parse_spec(net::testing::leaf_spine(4, hosts, spines, 50, 500), "net.yml"));
    const std::vector<int64_t> ranks = first_ranks(fabric.size());
    const coll::Place at{&fabric, ranks};
    for (const CommType type : {CommType::all_reduce, CommType::all_gather, CommType::reduce_scatter,
                                CommType::all_to_all, CommType::broadcast}) {
      const coll::Operation op{type, uint64_t{16} << 20, 0, {}};
      coll::Choice choice = coll::choose({}, op, at);
      const coll::Reordered seen(op, at, choice.order);
      const auto closed = static_cast<double>(coll::price(choice.plan, seen.place).together_ps);
      const auto fluid =
          static_cast<double>(time_alone(fabric, Congestion::fluid, choice.plan, choice.order, ranks, 0));
      const auto packet =
          static_cast<double>(time_alone(fabric, Congestion::packet, choice.plan, choice.order, ranks, 0));
      const std::string what = fmt::format("{} by {}, {} hosts a leaf and {} spines", trace::name(type),
                                           choice.algorithm->name, hosts, spines);
      const double error = choice.plan.lanes > 1 ? 0.2 : 0.05;
      EXPECT_NEAR(closed, fluid, error * fluid) << what;
      EXPECT_NEAR(packet, fluid, error * fluid) << what;
    }
  }
}

}  // namespace
}  // namespace chakra::sim
