// Networks whose symmetry is known, and the same networks without that knowledge: equal prices, to the picosecond.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/net/change.h"
#include "chakra/net/net.h"

namespace chakra::coll {
namespace {

using trace::CommType;

/// A network of several hundred ranks, so that exchanges are priced as a whole. Four trials have the four shapes.
std::string random_network(Prng& random, int trial) {
  const auto one_of = [&](std::initializer_list<int> numbers) {
    return *(numbers.begin() + random.below(numbers.size()));
  };
  switch (trial % 4) {
    case 0:
      return fmt::format("topology: FatTree\ndown: [{}, {}]\nup: [1, {}]\nbandwidth: [50, 30]\nlatency: 500\n",
                         one_of({16, 24}), one_of({24, 31}), one_of({2, 7}));
    case 1:
      return fmt::format(
          "topology: FatTree\ndown: [{}, {}, {}]\nup: [1, 2, 3]\nbandwidth: [50, 60, 70]\nlatency: 500\n",
          one_of({8, 12}), one_of({6, 7}), one_of({8, 9}));
    case 2:
      return fmt::format(
          "topology: Rails\nranks_per_node: {}\nnodes: {}\npods: {}\nspines: {}\nbandwidth: [450, 50, 70]\n"
          "latency: [200, 500, 600]\n",
          one_of({4, 8}), one_of({12, 17}), one_of({6, 8}), one_of({1, 4}));
    default:
      return fmt::format(
          "topology: Dragonfly\nranks_per_router: {}\nrouters: {}\nglobal: {}\ngroups: {}\nbandwidth: [40, 50, 30]\n"
          "latency: [100, 200, 900]\n",
          one_of({4, 6}), one_of({6, 8}), 4, one_of({13, 20}));
  }
}

/// All ranks, a part of them in a row, every few, or some at random.
std::vector<int64_t> random_members(Prng& random, int64_t size) {
  const uint64_t kind = random.below(4);
  const int64_t apart = random.between(2, 8), begin = kind == 1 ? size / apart : 0;
  std::vector<int64_t> ranks;
  for (int64_t rank = begin; rank < size; rank += kind == 2 ? apart : 1)
    if (kind != 3 || random.chance(0.8)) ranks.push_back(rank);
  return ranks;
}

TEST(Symmetric, PricesAreThoseOfTheNetworkWithoutItsTurns) {
  Prng random(17);
  int exchanges = 0;
  const int trials = std::getenv("CHAKRA_TEST_FULL") ? 40 : 8;
  for (int trial = 0; trial < trials; ++trial) {
    const std::string text = random_network(random, trial);
    const net::Fabric fabric = *net::parse_fabric(*parse_spec(text, "net.yml"));
    const net::Link link = fabric.link(0);
    const net::Fabric plain = *net::with_slow_link(fabric, {link.from, link.to}, 1.0);
    const std::vector<int64_t> ranks = random_members(random, fabric.size());
    const uint64_t bytes = uint64_t{1} << random.between(4, 28);
    for (const CommType type : {CommType::all_reduce, CommType::all_gather, CommType::all_to_all}) {
      const Operation op{type, bytes, 0, {}};
      const Place place{&fabric, ranks}, same{&plain, ranks};
      const auto where = [&](std::string_view name) {
        return fmt::format("{}{}: {} of {} members, {} bytes", text, name, trace::name(type), ranks.size(), bytes);
      };
      for (const std::string_view name :
           {"direct", "hierarchical_direct", "hierarchical", "multidimensional", "ring"}) {
        const AlgorithmRow& row = *find_algorithm(name);
        if (!row.can(op, place)) continue;
        const Plan plan = row.plan(op, place);
        const PricedPlan a = price(plan, place), b = price(plan, same);
        EXPECT_EQ(a.together_ps, b.together_ps) << where(name);
        EXPECT_EQ(a.alike, b.alike) << where(name);
        std::vector<Picoseconds> ends(ranks.size(), 0), by_plain(ends);
        run_closed(a, ends);
        run_closed(b, by_plain);
        EXPECT_EQ(ends, by_plain) << where(name);
        exchanges += name == "direct" && a.alike;
      }
    }
  }
  EXPECT_GT(exchanges, trials / 2);
}

TEST(Symmetric, ChoicesAreThoseOfTheNetworkWithoutItsTurns) {
  Prng random(18);
  for (int trial = 0; trial < 6; ++trial) {
    const std::string text = random_network(random, trial);
    const net::Fabric fabric = *net::parse_fabric(*parse_spec(text, "net.yml"));
    const net::Link link = fabric.link(0);
    const net::Fabric plain = *net::with_slow_link(fabric, {link.from, link.to}, 1.0);
    const std::vector<int64_t> ranks = random_members(random, fabric.size());
    const Operation op{CommType::all_reduce, uint64_t{1} << random.between(4, 28), 0, {}};
    const Choice a = choose({}, op, {&fabric, ranks}), b = choose({}, op, {&plain, ranks});
    EXPECT_EQ(a.algorithm, b.algorithm) << text;
    ASSERT_EQ(a.candidates.size(), b.candidates.size()) << text;
    for (size_t c = 0; c < a.candidates.size(); ++c)
      EXPECT_EQ(a.candidates[c].predicted_ps, b.candidates[c].predicted_ps) << text << a.candidates[c].algorithm->name;
  }
}

}  // namespace
}  // namespace chakra::coll
