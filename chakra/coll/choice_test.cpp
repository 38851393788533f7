// Which algorithm is taken: by rules, and by the least predicted time.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using net::TopologyKind;
using testing::fabric;
using testing::first_ranks;
using testing::random_fabric;
using trace::CommType;

std::string_view chosen(const Selection& selection, CommType type, uint64_t bytes, const net::Fabric& net) {
  const std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net.size()));
  return choose(selection, {type, bytes, 0, {}}, {&net, ranks}).algorithm->name;
}

TEST(Selection, IsReadable) {
  const net::Fabric net = fabric(TopologyKind::ring, 8);
  const auto parsed = parse_selection(
      "allreduce: 0-64KiB tree, 64KiB- ring; # small ones\nALL-TO-ALL :bruck;\n\n  Broadcast: 1kb-2kb  chain,\t-1kb "
      "tree");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(chosen(*parsed, CommType::all_reduce, 0, net), "tree");
  EXPECT_EQ(chosen(*parsed, CommType::all_reduce, 65535, net), "tree");
  EXPECT_EQ(chosen(*parsed, CommType::all_reduce, 65536, net), "ring");
  EXPECT_EQ(chosen(*parsed, CommType::all_reduce, UINT64_MAX, net), "ring");
  EXPECT_EQ(chosen(*parsed, CommType::all_to_all, 5, net), "bruck");
  EXPECT_EQ(chosen(*parsed, CommType::broadcast, 999, net), "tree");
  EXPECT_EQ(chosen(*parsed, CommType::broadcast, 1000, net), "chain");
  EXPECT_EQ(parsed->describe(),
            "all_reduce: 0-64KiB tree, 64KiB- ring\nbroadcast: 1KB-2KB chain, 0-1KB tree\nall_to_all: bruck\n");
}

TEST(Selection, AnAlgorithmAloneIsForAllThatItCanDo) {
  const net::Fabric net = fabric(TopologyKind::ring, 8);
  const auto parsed = parse_selection("ring; alltoall: 0-1KiB bruck");
  ASSERT_TRUE(parsed) << parsed.error().message();
  for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
    const auto type = static_cast<CommType>(t);
    const bool ruled = by_rule(*parsed, {type, 1024, 0, {}}, Place{&net, first_ranks(8)}) == find_algorithm("ring");
    EXPECT_EQ(ruled, find_algorithm("ring")->does(type)) << trace::kCommTypeNames[t];
  }
  EXPECT_EQ(chosen(*parsed, CommType::all_to_all, 1023, net), "bruck");
}

TEST(Selection, RulesHoldWhereTheyCan) {
  const net::Fabric line = fabric(TopologyKind::ring, 8);
  const std::vector<uint64_t> splits(64, 1);
  const std::vector<int64_t> ranks = first_ranks(8);
  const Place place{&line, ranks};
  const auto asked = parse_selection("allreduce: hierarchical; alltoall: ring");
  EXPECT_EQ(by_rule(*asked, {CommType::all_reduce, 64, 0, {}}, place), nullptr);  // the line is not a grid
  EXPECT_FALSE(choose(*asked, {CommType::all_reduce, 64, 0, {}}, place).by_rule);
  EXPECT_EQ(refusal(*asked, {CommType::all_reduce, 64, 0, {}}, place),
            "hierarchical needs members that fill a grid of two or more dimensions or of nodes");
  EXPECT_EQ(refusal(*asked, {CommType::all_to_all, 64, 0, splits}, place), "ring has no parts of unequal sizes");
  EXPECT_EQ(refusal(*asked, {CommType::all_gather, 64, 0, {}}, place), "");
  EXPECT_EQ(refusal(*asked, {CommType::all_reduce, 64, 0, {}}, {&line, std::span(ranks).first(1)}), "");
  EXPECT_EQ(refusal(*parse_selection("hierarchical"), {CommType::all_reduce, 64, 0, {}}, place), "");
  EXPECT_EQ(by_rule(*asked, {CommType::all_to_all, 64, 0, {}}, place), find_algorithm("ring"));
  EXPECT_EQ(by_rule(*asked, {CommType::all_to_all, 64, 0, splits}, place), nullptr);
  EXPECT_TRUE(choose(*asked, {CommType::all_to_all, 64, 0, {}}, place).by_rule);
}

// ---- the least predicted time ----------------------------------------------------------------------------------

TEST(Choice, IsTheLeastOfAllRows) {
  Prng random(11);
  int reordered = 0;
  for (int i = 0; i < 300; ++i) {
    const net::Fabric net = random_fabric(random, 24);
    std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net.size()));
    if (random.chance(0.3)) std::erase_if(ranks, [&](int64_t r) { return r > 0 && random.chance(0.4); });
    const Place place{&net, ranks};
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
      const Operation op{static_cast<CommType>(t), random.below(uint64_t{1} << random.between(0, 30)), 0, {}};
      const Choice choice = choose({}, op, place);
      const Reordered seen(op, place, choice.order);
      reordered += !choice.order.empty();
      const Picoseconds taken = price(choice.plan, seen.place).together_ps;
      for (const AlgorithmRow& row : kAlgorithms)
        if (row.can(op, place))
          EXPECT_LE(static_cast<double>(taken),
                    1.005 * static_cast<double>(price(row.plan(op, place), place).together_ps) + 1)
              << row.name << " instead of " << choice.algorithm->name << " for " << trace::kCommTypeNames[t] << " of "
              << op.bytes << " on " << net.describe();
    }
  }
}

/// Seven links of a rank against two, and a direct link for each pair against traffic that goes round the ring.
TEST(Choice, UsesTheLinksThereAre) {
  const std::vector<int64_t> ranks = first_ranks(8);
  const net::Fabric ring = fabric(TopologyKind::ring, 8), full = fabric(TopologyKind::fully_connected, 8);
  const auto time = [&](CommType type, uint64_t bytes, const net::Fabric& net) {
    const Place place{&net, ranks};
    const Operation op{type, bytes, 0, {}};
    return static_cast<double>(price(choose({}, op, place).plan, place).together_ps);
  };
  for (const uint64_t bytes : {uint64_t{64} << 20, uint64_t{1} << 30}) {
    for (const CommType type : {CommType::all_reduce, CommType::all_gather, CommType::reduce_scatter})
      EXPECT_NEAR(time(type, bytes, ring) / time(type, bytes, full), 3.5, 0.03 * 3.5) << trace::name(type);
    EXPECT_NEAR(time(CommType::all_to_all, bytes, ring) / time(CommType::all_to_all, bytes, full), 8, 0.03 * 8);
  }
}

/// Chunks keep the network cards of nodes busy by all hierarchies: the price is the same. Over shared links and in
/// packets, the one with the fewest rounds comes nearest to it (docs/reference/figures.md).
TEST(Choice, OfEqualPricesOnABusyLinkTheFewestRoundsAreTaken) {
  const net::Fabric nodes = *net::parse_fabric(*parse_spec(
      "topology: [Switch, Switch]\nnpus_count: [8, 16]\nbandwidth: [450, 50]\nlatency: [500, 2000]\n", "net.yml"));
  const std::vector<int64_t> ranks = first_ranks(128);
  const Choice choice = choose({}, {CommType::all_reduce, uint64_t{1} << 30, 0, {}}, {&nodes, ranks});
  EXPECT_EQ(choice.algorithm->name, "hierarchical_direct");
  Picoseconds ring = 0, direct = 0;
  for (const Candidate& c : choice.candidates) {
    if (c.algorithm->name == "hierarchical") ring = c.predicted_ps.value_or(0);
    if (c.algorithm->name == "hierarchical_direct") direct = c.predicted_ps.value_or(0);
  }
  EXPECT_EQ(ring, direct);
}

TEST(Choice, MembersThatAreNearFollowEachOther) {
  // A ring of ranks whose numbers are not in order, as a graph: each follows a neighbour.
  const std::vector<int64_t> round{0, 5, 2, 7, 4, 1, 6, 3};
  std::string text = "ranks: 8\nlinks:\n";
  for (size_t i = 0; i < 8; ++i)
    text += fmt::format("- {{from: {}, to: {}, bandwidth: 50, latency: 500}}\n", round[i], round[(i + 1) % 8]);
  const net::Fabric graph = *net::parse_fabric(*parse_spec(text, "net.yml"));
  const std::vector<int64_t> ranks = first_ranks(8);
  const Operation op{CommType::all_reduce, 64 << 20, 0, {}};
  const Choice choice = choose({}, op, {&graph, ranks});
  ASSERT_EQ(choice.order.size(), 8u);
  for (size_t p = 0; p < 8; ++p) EXPECT_EQ(graph.path(choice.order[p], choice.order[(p + 1) % 8]).links, 1u);
  const net::Fabric ring = fabric(TopologyKind::ring, 8);
  const Reordered seen(op, {&graph, ranks}, choice.order);
  EXPECT_EQ(price(choice.plan, seen.place).together_ps,
            price(choose({}, op, {&ring, ranks}).plan, {&ring, ranks}).together_ps);
  // Along a line there and back: no way is longer than two links.
  const net::Fabric line = fabric(TopologyKind::mesh, 9);
  const std::vector<int64_t> nine = first_ranks(9);
  const auto order = near_order({&line, nine});
  ASSERT_EQ(order.size(), 9u);
  for (size_t p = 0; p < 9; ++p) EXPECT_LE(line.path(order[p], order[(p + 1) % 9]).links, 2u);
  EXPECT_TRUE(near_order({&ring, ranks}).empty());
}

TEST(Choice, RootsAndSplitsGoWithTheMembers) {
  const net::Fabric line = fabric(TopologyKind::mesh, 3);
  const std::vector<int64_t> ranks{2, 0, 1};
  const std::vector<uint64_t> splits{0, 1, 2, 10, 11, 12, 20, 21, 22};
  const std::vector<uint32_t> order{1, 2, 0};
  const Reordered seen({CommType::all_to_all, 7, 0, splits}, {&line, ranks}, order);
  EXPECT_EQ(std::vector<int64_t>(seen.place.ranks.begin(), seen.place.ranks.end()), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(seen.op.root, 2u);
  EXPECT_EQ(std::vector<uint64_t>(seen.op.splits.begin(), seen.op.splits.end()),
            (std::vector<uint64_t>{11, 12, 10, 21, 22, 20, 1, 2, 0}));
}

TEST(Selection, ComesBackFromItsDescription) {
  Prng random(9);
  for (int i = 0; i < 500; ++i) {
    Selection selection;
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
      for (int64_t k = random.between(0, 3); k > 0; --k) {
        Rule rule;
        rule.type = static_cast<CommType>(t);
        do rule.algorithm = &kAlgorithms[random.below(kAlgorithms.size())];
        while (!rule.algorithm->does(rule.type));
        rule.from = random.chance(0.3) ? 0 : random.below(UINT64_MAX) >> random.below(60);
        rule.to = random.chance(0.3) ? UINT64_MAX : rule.from + 1 + random.below(1000) * 512;
        if (rule.to > rule.from) selection.rules.push_back(rule);
      }
    const auto again = parse_selection(selection.describe());
    ASSERT_TRUE(again) << again.error().message();
    ASSERT_EQ(again->rules.size(), selection.rules.size());
    for (size_t r = 0; r < again->rules.size(); ++r) {
      EXPECT_EQ(again->rules[r].type, selection.rules[r].type);
      EXPECT_EQ(again->rules[r].from, selection.rules[r].from);
      EXPECT_EQ(again->rules[r].to, selection.rules[r].to);
      EXPECT_EQ(again->rules[r].algorithm, selection.rules[r].algorithm);
    }
  }
}

TEST(Selection, SaysWhatIsWrongAndWhere) {
  const auto tag = [](std::string_view text) { return chakra::testing::tag_of(parse_selection(text)); };
  EXPECT_EQ(tag("rung"), "coll.selection.syntax");
  EXPECT_EQ(tag("ring, tree"), "coll.selection.syntax");
  EXPECT_EQ(tag("allreduce:"), "coll.selection.syntax");
  EXPECT_EQ(tag("allreduce: ring,,tree"), "coll.selection.syntax");
  EXPECT_EQ(tag("allreduce: 0-1KiB"), "coll.selection.algorithm");
  EXPECT_EQ(tag("allreduce: 0-1KiB ring tree"), "coll.selection.syntax");
  EXPECT_EQ(tag("allreduces: ring"), "coll.selection.type");
  EXPECT_EQ(tag(": ring"), "coll.selection.type");
  EXPECT_EQ(tag("allreduce: rings"), "coll.selection.algorithm");
  EXPECT_EQ(tag("barrier: ring"), "coll.selection.algorithm");
  EXPECT_EQ(tag("allreduce: 5 ring"), "coll.selection.size");
  EXPECT_EQ(tag("allreduce: 5-5 ring"), "coll.selection.size");
  EXPECT_EQ(tag("allreduce: 6-5 ring"), "coll.selection.size");
  EXPECT_EQ(tag("allreduce: 0-5parsec ring"), "coll.selection.size");
  EXPECT_EQ(tag("allreduce: -1-5 ring"), "coll.selection.size");
  EXPECT_EQ(tag("allreduce: 0-18446744073709551616 ring"), "coll.selection.size");
  EXPECT_EQ(tag("allreduce: 0-99999999TiB ring"), "coll.selection.size");
  EXPECT_EQ(tag(""), "");
  const auto error = parse_selection("allreduce: ring\n\nalltoall: bruck; barrier: nothing", "choice.txt");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().place.text(), "choice.txt:3");
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CommType::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CommType::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(algorithm_factor(CommType::all_gather, 4), 4);  // shards
  EXPECT_DOUBLE_EQ(bus_factor(CommType::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(algorithm_factor(CommType::scatter, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CommType::scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CommType::broadcast, 4), 1);
}

}  // namespace
}  // namespace chakra::coll
