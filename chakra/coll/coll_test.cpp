// Each algorithm's plan, executed with symbols, must deliver what the operation promises.
#include "chakra/coll/coll.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "chakra/coll/testing/plans.h"

namespace chakra::coll {
namespace {

using net::TopologyKind;
using testing::expand;
using testing::fabric;
using testing::first_ranks;
using testing::kBytes;
using testing::Pairs;
using testing::random_fabric;
using testing::types_of;
using trace::CommType;

/// Per member and unit: who has contributed to it, a bit per member.
using State = std::vector<std::vector<uint64_t>>;

State before(const Operation& op, uint32_t n, uint64_t units) {
  State state(n, std::vector<uint64_t>(units, 0));
  for (uint32_t i = 0; i < n; ++i)
    for (uint64_t u = 0; u < units; ++u) switch (op.type) {
        case CommType::all_reduce:
        case CommType::reduce_scatter:
        case CommType::reduce_scatter_block:
        case CommType::reduce: state[i][u] = uint64_t{1} << i; break;
        case CommType::scatter:
        case CommType::broadcast: state[i][u] = i == op.root ? uint64_t{1} << i : 0; break;
        case CommType::all_to_all: state[i][u] = u / (units / n) == i ? uint64_t{1} << i : 0; break;
        default: state[i][u] = u / (units / n) == i ? uint64_t{1} << i : 0;  // gather, all-gather, barrier
      }
  return state;
}

/// What a member must have of a unit at the end; 0: whatever it is.
uint64_t promised(const Operation& op, uint32_t n, uint64_t units, uint32_t member, uint64_t unit) {
  const uint64_t all = (uint64_t{1} << n) - 1;
  const auto owner = [&](uint64_t parts) { return unit / (units / parts); };
  switch (op.type) {
    case CommType::all_reduce: return all;
    case CommType::reduce: return member == op.root ? all : 0;
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block: return owner(n) == member ? all : 0;
    case CommType::broadcast: return uint64_t{1} << op.root;
    case CommType::scatter: return owner(n) == member ? uint64_t{1} << op.root : 0;
    case CommType::gather: return member == op.root ? uint64_t{1} << owner(n) : 0;
    case CommType::all_to_all:
      return owner(uint64_t{n} * n) % n == member ? uint64_t{1} << (owner(uint64_t{n} * n) / n) : 0;
    default: return uint64_t{1} << owner(n);
  }
}

void check_delivery(const AlgorithmRow& row, const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const Outline outline = row.outline(op, place);
  const Plan plan = row.plan(op, place);
  ASSERT_EQ(plan.members, n);
  ASSERT_EQ(plan.rounds.size(), outline.rounds);
  State state = before(op, n, outline.units);
  std::map<uint64_t, uint32_t> lane_of;
  std::vector<int32_t> last_of_lane(plan.lanes, -1);
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    ASSERT_LT(round.lane, plan.lanes);
    if (round.after >= 0) {
      ASSERT_LT(round.after, static_cast<int32_t>(k));
      ASSERT_NE(plan.rounds[static_cast<size_t>(round.after)].lane, round.lane);
      ASSERT_EQ(last_of_lane[plan.rounds[static_cast<size_t>(round.after)].lane], round.after);
    }
    last_of_lane[round.lane] = static_cast<int32_t>(k);
    const State old = state;  // all of a round happens at once
    Pairs moved;
    for (const Move& move : row.moves(op, place, k)) {
      uint64_t& bytes = moved[{move.from, move.to}];
      ASSERT_GT(move.count, 0u);
      for (uint64_t i = 0; i < move.count; ++i) {
        const uint64_t unit = move.block + i * move.step;
        ASSERT_LT(unit, outline.units);
        bytes += op.splits.empty() ? outline.unit_bytes : op.splits[unit];
        const uint64_t held = old[move.from][unit];
        ASSERT_NE(held, 0u) << "member " << move.from << " sends a unit it has not";
        // Lanes run at the same time: a unit belongs to one.
        ASSERT_EQ(lane_of.emplace(unit, round.lane).first->second, round.lane);
        uint64_t& to = state[move.to][unit];
        if (move.reduce) {
          ASSERT_EQ(to & held, 0u) << "counted twice";
          to |= held;
        } else {
          to = held;
        }
      }
    }
    if (!op.splits.empty()) std::erase_if(moved, [](const auto& pair) { return pair.second == 0; });
    if (!row.traffic) {
      ASSERT_EQ(expand(plan, round), moved) << "round " << k;
    }
  }
  for (uint32_t i = 0; i < n; ++i)
    for (uint64_t u = 0; u < outline.units; ++u)
      if (const uint64_t must = promised(op, n, outline.units, i, u)) {
        ASSERT_EQ(state[i][u], must) << "member " << i << ", unit " << u;
      }
  // The units make up the operation's bytes, padded to equal ones.
  const bool own = op.type == CommType::all_gather || op.type == CommType::gather;
  if (op.type != CommType::barrier && op.splits.empty()) {
    const uint64_t parts = own || op.type == CommType::all_to_all ? outline.units / n : outline.units;
    EXPECT_EQ(outline.unit_bytes, (op.bytes + parts - 1) / parts);
  }
}

/// The parts of all members together are the plan: the same rounds, lanes, order and bytes, each transfer at both ends.
void check_parts(const AlgorithmRow& row, const Operation& op, const Place& place) {
  const Plan plan = row.plan(op, place);
  std::vector<Pairs> sent(plan.rounds.size()), received(plan.rounds.size());
  for (uint32_t member = 0; member < place.members(); ++member) {
    const std::vector<Part> parts = parts_of(row, op, place, member);
    std::vector<int32_t> last(plan.lanes, -1);
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      ASSERT_LT(part.round, plan.rounds.size());
      ASSERT_EQ(part.lane, plan.rounds[part.round].lane);
      ASSERT_EQ(part.before, last[part.lane]);
      // The last part up to `after` in that lane.
      int32_t must = -1;
      if (const int32_t after = plan.rounds[part.round].after; after >= 0)
        for (size_t q = 0; q < p; ++q)
          if (parts[q].lane == plan.rounds[static_cast<size_t>(after)].lane &&
              parts[q].round <= static_cast<uint32_t>(after))
            must = static_cast<int32_t>(q);
      ASSERT_EQ(part.after, must);
      last[part.lane] = static_cast<int32_t>(p);
      for (const PartTransfer& t : part.sends) sent[part.round][{member, t.other}] += t.bytes;
      for (const PartTransfer& t : part.receives) received[part.round][{t.other, member}] += t.bytes;
    }
  }
  for (size_t k = 0; k < plan.rounds.size(); ++k) {
    const Pairs planned = expand(plan, plan.rounds[k]);
    ASSERT_EQ(sent[k], planned) << "round " << k;
    ASSERT_EQ(received[k], planned) << "round " << k;
  }
}

TEST(Algorithms, DeliverWhatTheOperationPromises) {
  for (const AlgorithmRow& row : kAlgorithms) {
    if (row.needs != AlgorithmRow::Needs::nothing) continue;
    for (const CommType type : types_of(row))
      for (uint32_t n = 1; n <= 33; ++n)
        for (const uint32_t root : std::set<uint32_t>{0, n / 3, n / 2, n - 1})
          for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1'000'003}, kBytes}) {
            if (root > 0 && !trace::has_root(type)) continue;
            const net::Fabric net = fabric(TopologyKind::ring, n);
            const std::vector<int64_t> ranks = first_ranks(n);
            check_delivery(row, {type, bytes, root, {}}, {&net, ranks});
            if (HasFailure())
              FAIL() << trace::name(type) << " " << row.name << ", " << n << " members, root " << root << ", " << bytes;
          }
  }
}

/// Ranks of a fabric whose coordinates are all in the given lists.
std::vector<int64_t> sub_grid(const net::Fabric& net, const std::vector<std::set<int64_t>>& kept) {
  std::vector<int64_t> ranks;
  for (int64_t r = 0; r < net.size(); ++r) {
    int64_t rest = r;
    bool in = true;
    for (size_t d = 0; d < net.dimensions.size(); ++d) {
      in = in && (kept[d].empty() || kept[d].contains(rest % net.dimensions[d].ranks));
      rest /= net.dimensions[d].ranks;
    }
    if (in) ranks.push_back(r);
  }
  return ranks;
}

TEST(Hierarchical, DeliversOnGridsAndPartsOfThem) {
  Prng random(7);
  std::map<std::string_view, int> grids;
  for (int round = 0; round < 300; ++round) {
    const net::Fabric net = random_fabric(random, 40);
    std::vector<std::set<int64_t>> kept(net.dimensions.size());
    int wide = 0;
    for (size_t d = 0; d < kept.size(); ++d) {
      if (random.chance(0.5))
        for (int64_t c = 0; c < net.dimensions[d].ranks; ++c)
          if (random.chance(0.7)) kept[d].insert(c);
      wide += (kept[d].empty() ? net.dimensions[d].ranks : static_cast<int64_t>(kept[d].size())) > 1;
    }
    const std::vector<int64_t> ranks = sub_grid(net, kept);
    const Place place{&net, ranks};
    for (const AlgorithmRow& row : kAlgorithms) {
      if (row.needs != AlgorithmRow::Needs::grid) continue;
      for (const CommType type : types_of(row))
        for (const uint64_t bytes : {uint64_t{0}, uint64_t{5}, kBytes}) {
          const Operation op{type, bytes, 0, {}};
          ASSERT_EQ(row.can(op, place), wide >= 2);
          if (wide < 2) continue;
          ++grids[row.name];
          check_delivery(row, op, place);
          if (HasFailure()) FAIL() << row.name << " " << trace::name(type) << " on " << net.describe() << ", " << bytes;
        }
    }
  }
  EXPECT_EQ(grids.size(), 4u);
  for (const auto& [name, count] : grids) EXPECT_GT(count, 500) << name;
}

/// Any ranks of some nodes, in any order.
std::vector<int64_t> some_of_nodes(Prng& random, int64_t per_node, int64_t nodes) {
  std::vector<int64_t> ranks;
  for (int64_t node = 0; node < nodes; ++node) {
    std::vector<int64_t> of_node(static_cast<size_t>(per_node));
    std::iota(of_node.begin(), of_node.end(), node * per_node);
    while (static_cast<int64_t>(of_node.size()) > 2 && random.chance(0.4))
      of_node.erase(of_node.begin() + static_cast<ptrdiff_t>(random.below(of_node.size())));
    ranks.insert(ranks.end(), of_node.begin(), of_node.end());
  }
  for (size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[random.below(i)]);
  return ranks;
}

TEST(NodeColumns, DeliverOnNodesOfAnySizes) {
  const AlgorithmRow& row = *find_algorithm("node_columns");
  Prng random(29);
  for (int round = 0; round < 60; ++round) {
    const int64_t per_node = random.between(2, 5), nodes = random.between(2, 7);
    const net::Fabric net{{{TopologyKind::switch_, per_node, 450, 250}, {TopologyKind::switch_, nodes, 50, 500}}};
    const std::vector<int64_t> ranks = some_of_nodes(random, per_node, nodes);
    const Place place{&net, ranks};
    for (const CommType type : types_of(row))
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{5}, kBytes}) {
        const Operation op{type, bytes, 0, {}};
        ASSERT_TRUE(row.can(op, place));
        check_delivery(row, op, place);
        check_parts(row, op, place);
        if (HasFailure()) FAIL() << trace::name(type) << " of " << ranks.size() << " on " << net.describe();
      }
  }
}

/// No NIC sends more than its part of what the smallest node has to.
TEST(NodeColumns, UseAsManyCardsAsTheSmallestNodeHas) {
  const net::Fabric net{{{TopologyKind::switch_, 8, 450, 250}, {TopologyKind::switch_, 3, 50, 500}}};
  std::vector<int64_t> ranks = first_ranks(24);
  ranks.erase(ranks.begin() + 20, ranks.end());  // 8, 8 and 4
  const Place place{&net, ranks};
  const Operation op{CommType::all_reduce, uint64_t{1} << 30, 0, {}};
  const auto seconds = static_cast<double>(price(choose({}, op, place).plan, place).together_ps) * 1e-12;
  const double bound = 2 * 2.0 / 3 / (4 * 50.0);  // (N-1)/N of the buffer out of the node with four cards, and back
  EXPECT_GE(seconds, bound);
  EXPECT_LE(seconds, 1.2 * bound);
}

TEST(Grid, IsSeenInGraphs) {
  // Three nodes of two, written as a graph: fast links to a switch of the node, slow ones to one of two rails.
  std::string text = "ranks: 6\nswitches: 5\nlinks:\n";
  for (int r = 0; r < 6; ++r)
    text += fmt::format(
        "- {{from: {0}, to: {1}, bandwidth: 400, latency: 250}}\n- {{from: {0}, to: {2}, bandwidth: 50, "
        "latency: 500}}\n",
        r, 6 + r % 3, 9 + r / 3);
  const net::Fabric graph = *net::parse_fabric(*parse_spec(text, "net.yml"));
  const std::vector<int64_t> numbered = first_ranks(6), by_node{0, 3, 1, 4, 2, 5};
  EXPECT_TRUE(grid_of({&graph, numbered}).empty());
  const Grid grid = grid_of({&graph, by_node});
  ASSERT_EQ(grid.size(), 2u);
  EXPECT_EQ(grid[0].extent, 2u);
  EXPECT_EQ(grid[1].extent, 3u);
  EXPECT_EQ(grid_order({&graph, numbered}), (std::vector<uint32_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(grid_order({&graph, by_node}).empty());
}

TEST(InNetwork, DeliversWhatTheOperationPromises) {
  const auto check = [](const char* name, const std::string& text, int64_t n) {
    const net::Fabric net = *net::parse_fabric(*parse_spec(text, "net.yml"));
    const std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(n));
    const AlgorithmRow& row = *find_algorithm(name);
    for (const CommType type : types_of(row))
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{5}, kBytes, uint64_t{40} << 20}) {
        ASSERT_TRUE(row.can({type, bytes, 0, {}}, {&net, ranks})) << text;
        check_delivery(row, {type, bytes, 0, {}}, {&net, ranks});
        if (HasFailure()) FAIL() << name << " " << trace::name(type) << " on " << text;
      }
  };
  for (int64_t n = 2; n <= 33; ++n)
    check("in_network",
          fmt::format("topology: [Switch]\nnpus_count: [{}]\nbandwidth: [9]\nlatency: [9]\nreduction: {{bandwidth: 5}}",
                      n),
          n);
  for (const char* reduces : {"[{bandwidth: 5}, none]", "[none, {bandwidth: 5}]", "{bandwidth: 5}"})
    for (const auto& [a, b] : {std::pair(2, 2), {4, 3}, {3, 5}, {8, 4}})
      check("hierarchical_in_network",
            fmt::format("topology: [Switch, Switch]\nnpus_count: [{}, {}]\nbandwidth: [9, 9]\nlatency: [9, 9]\n"
                        "reduction: {}",
                        a, b, reduces),
            a * b);
}

TEST(Hierarchical, NeedsAGrid) {
  const AlgorithmRow& row = *find_algorithm("hierarchical");
  const net::Fabric net{{{TopologyKind::ring, 4, 50, 500}, {TopologyKind::switch_, 4, 25, 500}}};
  const Operation op{CommType::all_reduce, 1 << 20, 0, {}};
  const auto can = [&](std::vector<int64_t> ranks) { return row.can(op, {&net, ranks}); };
  EXPECT_TRUE(can({0, 1, 4, 5}));
  EXPECT_TRUE(can({1, 3, 9, 11}));
  EXPECT_FALSE(can({0, 1, 4, 6}));  // no product
  EXPECT_FALSE(can({0, 1, 5, 4}));  // not ascending
  EXPECT_FALSE(can({0, 1, 2, 3}));  // one dimension
  EXPECT_FALSE(can({0, 5, 10, 15}));
  const std::vector<uint64_t> splits(16, 1);
  const std::vector<int64_t> ranks{0, 1, 4, 5};
  EXPECT_FALSE(row.can({CommType::all_to_all, 16, 0, splits}, {&net, ranks}));
}

TEST(Algorithms, SplitsAreSentAsGiven) {
  Prng random(11);
  for (const AlgorithmRow& row : kAlgorithms) {
    if (!row.splits) continue;
    for (uint32_t n = 1; n <= 17; ++n) {
      std::vector<uint64_t> splits(uint64_t{n} * n);
      for (uint64_t& bytes : splits) bytes = random.chance(0.3) ? 0 : random.below(1'000'000);
      const net::Fabric net = fabric(TopologyKind::switch_, n);
      const std::vector<int64_t> ranks = first_ranks(n);
      const Operation op{CommType::all_to_all, std::accumulate(splits.begin(), splits.end(), uint64_t{0}), 0, splits};
      const Place place{&net, ranks};
      ASSERT_TRUE(row.can(op, place));
      check_delivery(row, op, place);
      if (HasFailure()) FAIL() << row.name << ", " << n << " members";
      if (row.name == "bruck") continue;  // which passes data on
      Pairs sent;
      for (const Plan plan = row.plan(op, place); const Round& round : plan.rounds)
        each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) { sent[{from, to}] += bytes; });
      for (uint32_t from = 0; from < n; ++from)
        for (uint32_t to = 0; to < n; ++to)
          if (from != to) {
            EXPECT_EQ((sent[{from, to}]), splits[from * n + to]);
          }
    }
  }
}

TEST(Parts, AreThePlanMemberByMember) {
  Prng random(17);
  for (const AlgorithmRow& row : kAlgorithms)
    for (const CommType type : types_of(row))
      for (int i = 0; i < 30; ++i) {
        const net::Fabric net = random_fabric(random, 16);
        const auto n = static_cast<uint32_t>(net.size());
        const std::vector<int64_t> ranks = first_ranks(n);
        std::vector<uint64_t> splits;
        if (type == CommType::all_to_all && row.splits && i % 2)
          for (uint32_t k = 0; k < n * n; ++k) splits.push_back(random.chance(0.4) ? 0 : random.below(1000));
        const Operation op{type, random.below(9 << 20), trace::has_root(type) ? n - 1 : 0, splits};
        const Place place{&net, ranks};
        if (!row.can(op, place)) continue;
        check_parts(row, op, place);
        if (HasFailure()) FAIL() << row.name << " " << trace::name(type) << " on " << net.describe();
      }
}

TEST(Algorithms, NoPartCutsAnElement) {
  for (const AlgorithmRow& row : kAlgorithms)
    for (const CommType type : types_of(row))
      for (const uint32_t n : {2u, 3u, 7u, 8u}) {
        const net::Fabric net = fabric(TopologyKind::switch_, n);
        const std::vector<int64_t> ranks = first_ranks(n);
        const Place place{&net, ranks};
        for (const uint64_t elements : {0u, 1u, 1000u, 1'000'003u}) {
          const Operation op{type, 8 * elements, 0, {}, 8};
          if (!row.can(op, place)) continue;
          const Outline o = row.outline(op, place);
          EXPECT_EQ(o.unit_bytes % 8, 0u) << row.name;
          const Outline whole = row.outline({type, elements, 0, {}}, place);
          if (o.units == whole.units) {  // as many parts as of one byte an element
            EXPECT_EQ(o.unit_bytes, 8 * whole.unit_bytes) << row.name;
          }
        }
      }
}

TEST(Algorithms, EveryOperationHasOneForAnySize) {
  for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
    for (const uint32_t n : {1u, 2u, 3u, 64u, 1000u})
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, kBytes, UINT64_MAX}) {
        const net::Fabric net = fabric(TopologyKind::ring, n);
        const std::vector<int64_t> ranks = first_ranks(n);
        const Operation op{static_cast<CommType>(t), bytes, n - 1, {}};
        const Place place{&net, ranks};
        const AlgorithmRow& row = *choose({}, op, place).algorithm;
        ASSERT_TRUE(row.can(op, place)) << trace::kCommTypeNames[t];
        const Plan plan = row.plan(op, place);
        EXPECT_EQ(plan.rounds.empty(), n == 1);
        std::vector<Picoseconds> ready(n, 5);
        run_closed(plan, place, ready);
        for (const Picoseconds end : ready) {
          EXPECT_GE(end, 5);
          EXPECT_LE(end, kLongestPs);
        }
      }
}

TEST(Algorithms, NamesAndCosts) {
  std::set<std::string_view> names;
  for (const AlgorithmRow& row : kAlgorithms) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(find_algorithm(row.name), &row);
    EXPECT_FALSE(row.cost.empty());
  }
  EXPECT_EQ(find_algorithm("none"), nullptr);
}

TEST(Algorithms, WhereAllDoAlikePlansStayShort) {
  const uint32_t n = 131'072;
  const net::Fabric net{{{TopologyKind::ring, 8, 400, 100},
                         {TopologyKind::fully_connected, 16, 100, 500},
                         {TopologyKind::switch_, 1024, 50, 2000}}};
  const std::vector<int64_t> ranks = first_ranks(n);
  const Place place{&net, ranks};
  for (const char* name :
       {"ring", "bidirectional_ring", "halving_doubling", "pairwise", "dissemination", "hierarchical"})
    for (const CommType type : types_of(*find_algorithm(name))) {
      const Plan plan = find_algorithm(name)->plan({type, 1 << 30, 0, {}}, place);
      EXPECT_TRUE(rotation_symmetric(plan)) << name;
      EXPECT_LE(plan.rounds.size(), 2 * (n - 1));
    }
  for (const CommType type : {CommType::all_reduce, CommType::all_gather, CommType::reduce_scatter}) {
    const Plan plan = find_algorithm("hierarchical")->plan({type, 1 << 30, 0, {}}, place);
    EXPECT_TRUE(price(plan, place).alike);
  }
}

/// In the pipelined trees no member sends or receives two pieces in a step.
TEST(Trees, OneSendAndOneReceiveAtATime) {
  for (const char* name : {"double_binary_tree", "binary_tree", "chain", "tree"})
    for (const CommType type : types_of(*find_algorithm(name)))
      for (uint32_t n = 2; n <= 130; ++n) {
        const net::Fabric net = fabric(TopologyKind::switch_, n);
        const std::vector<int64_t> ranks = first_ranks(n);
        const Plan plan = find_algorithm(name)->plan({type, 1 << 20, n / 2, {}}, {&net, ranks});
        for (const Round& round : plan.rounds) {
          std::set<uint32_t> from, to;
          for (const Transfer& t : round.list) {
            ASSERT_TRUE(from.insert(t.from).second) << name << " of " << n << ": " << t.from << " sends twice";
            ASSERT_TRUE(to.insert(t.to).second) << name << " of " << n << ": " << t.to << " receives twice";
          }
        }
      }
}

TEST(Trees, DoubleTreeStaysNearTwiceTheData) {
  for (const uint32_t n : {2u, 3u, 8u, 100u, 1024u}) {
    const net::Fabric net = fabric(TopologyKind::switch_, n);
    const std::vector<int64_t> ranks = first_ranks(n);
    const AlgorithmRow& row = *find_algorithm("double_binary_tree");
    const Outline o = row.outline({CommType::all_reduce, 8 << 20, 0, {}}, {&net, ranks});
    const double levels = std::ceil(std::log2(n));
    EXPECT_LE(o.rounds, 2 * (2 * levels + 2 * o.pieces + 1)) << n;
  }
}

}  // namespace
}  // namespace chakra::coll
