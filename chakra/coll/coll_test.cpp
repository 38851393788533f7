// Each algorithm's plan, executed with symbols, must deliver what the operation promises; its price must be
// the formula's; running without contention must agree with an event-driven run written from the definition.
#include "chakra/coll/coll.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "chakra/base/testing/testing.h"

namespace chakra::coll {
namespace {

using net::TopologyKind;
using trace::CommType;

constexpr uint64_t kBytes = 12'252'240;  // divisible by 2 .. 18
constexpr uint64_t kManyBytes = 64 * kBytes;

net::Fabric fabric(TopologyKind kind, int64_t ranks) { return {{{kind, ranks, 50, 500}}}; }

std::vector<int64_t> first_ranks(uint32_t n) {
  std::vector<int64_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<CommType> types_of(const AlgorithmRow& row) {
  std::vector<CommType> types;
  for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
    if (row.does(static_cast<CommType>(t))) types.push_back(static_cast<CommType>(t));
  return types;
}

/// A round's transfers straight from the definition of Round, as bytes per pair.
using Pairs = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;
Pairs expand(const Plan& plan, const Round& round) {
  Pairs pairs;
  const auto add = [&](uint32_t from, uint32_t to, uint64_t bytes) {
    EXPECT_LT(from, plan.members);
    EXPECT_LT(to, plan.members);
    EXPECT_NE(from, to);
    EXPECT_TRUE(pairs.emplace(std::pair(from, to), bytes).second) << from << " sends to " << to << " twice";
  };
  if (!round.list.empty()) {
    for (const Transfer& t : round.list) add(t.from, t.to, t.bytes);
  } else if (round.shift > 0) {
    const uint32_t extent = round.extent ? round.extent : plan.members;
    for (uint32_t i = 0; i < plan.members; ++i) {
      const uint32_t low = i % round.stride, c = i / round.stride % extent, high = i / (round.stride * extent);
      for (uint64_t q = 0; q < round.shifts; ++q) {
        const uint64_t to = (c + round.shift + q * round.apart) % extent;
        add(i, static_cast<uint32_t>((high * extent + to) * round.stride + low), round.bytes);
      }
    }
  }
  return pairs;
}

// ---- delivery ------------------------------------------------------------------------------------------------

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
    ASSERT_EQ(expand(plan, round), moved) << "round " << k;
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

TEST(Algorithms, DeliverWhatTheOperationPromises) {
  for (const AlgorithmRow& row : kAlgorithms) {
    if (row.grid) continue;
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

net::Fabric random_fabric(Prng& random, int64_t most) {
  constexpr std::array<TopologyKind, 3> kKinds{TopologyKind::ring, TopologyKind::switch_,
                                               TopologyKind::fully_connected};
  net::Fabric net;
  const int64_t dimensions = random.between(1, 3);
  int64_t size = 1;
  for (int64_t d = 0; d < dimensions; ++d) {
    const int64_t extent = random.between(1, std::max<int64_t>(1, std::min<int64_t>(6, most / size)));
    size *= extent;
    net.dimensions.push_back({kKinds[random.below(3)], extent, static_cast<double>(random.between(1, 400)) / 4,
                              static_cast<double>(random.between(0, 2000))});
  }
  return net;
}

TEST(Hierarchical, DeliversOnGridsAndPartsOfThem) {
  const AlgorithmRow& row = *find_algorithm("hierarchical");
  Prng random(7);
  int grids = 0;
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
    for (const CommType type : types_of(row))
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{5}, kBytes}) {
        const Operation op{type, bytes, 0, {}};
        ASSERT_EQ(row.can(op, place), wide >= 2);
        if (wide < 2) continue;
        ++grids;
        check_delivery(row, op, place);
        if (HasFailure()) FAIL() << trace::name(type) << " on " << net.describe() << ", " << bytes;
      }
  }
  EXPECT_GT(grids, 500);
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

// ---- prices -----------------------------------------------------------------------------------------------------

/// All ends are `seconds` after the start: within 1e-9 of it and a picosecond.
void expect_time(const char* name, CommType type, const net::Fabric& net, uint64_t bytes, double seconds) {
  const auto n = static_cast<uint32_t>(net.size());
  const std::vector<int64_t> ranks = first_ranks(n);
  const Place place{&net, ranks};
  const Plan plan = find_algorithm(name)->plan({type, bytes, 0, {}}, place);
  std::vector<Picoseconds> ready(n, 1'000'000);
  run_closed(plan, place, ready);
  const double last = static_cast<double>(*std::max_element(ready.begin(), ready.end()) - 1'000'000);
  EXPECT_NEAR(last, seconds * 1e12, 1 + seconds * 1e3) << name << " " << trace::name(type) << " of " << n;
}

TEST(RunClosed, EqualsTheFormula) {
  const double rate = 50 * 1073741824.0, link = 500e-9, size = static_cast<double>(kManyBytes);
  for (const uint32_t n : {2u, 3u, 4u, 6u, 8u, 16u}) {
    const net::Fabric ring = fabric(TopologyKind::ring, n), star = fabric(TopologyKind::switch_, n),
                      full = fabric(TopologyKind::fully_connected, n);
    const double m = n, K = std::ceil(std::log2(m)), S = size / rate;
    const auto check = [&](const char* name, CommType type, double star_s, double ring_s = -1, double full_s = -1) {
      expect_time(name, type, star, kManyBytes, star_s);
      if (ring_s >= 0) expect_time(name, type, ring, kManyBytes, ring_s);
      if (full_s >= 0) expect_time(name, type, full, kManyBytes, full_s);
    };
    const double L = 2 * link;
    check("ring", CommType::all_reduce, 2 * (m - 1) * (L + S / m), 2 * (m - 1) * (link + S / m));
    check("ring", CommType::reduce_scatter, (m - 1) * (L + S / m), (m - 1) * (link + S / m));
    check("ring", CommType::reduce_scatter_block, (m - 1) * (L + S / m), (m - 1) * (link + S / m));
    check("ring", CommType::all_gather, (m - 1) * (L + S), (m - 1) * (link + S), (m - 1) * (link + S));
    check("ring", CommType::all_to_all, (m - 1) * L + (m - 1) * S / 2, (m - 1) * link + (m - 1) * S / 2);
    // One link to the switch carries both ways; two members of a ring have one neighbour.
    const double ways = n == 2 ? 1 : 2;
    check("bidirectional_ring", CommType::all_reduce, 2 * (m - 1) * (L + S / m), 2 * (m - 1) * (link + S / m / ways),
          2 * (m - 1) * (link + S / m / ways));
    check("bidirectional_ring", CommType::all_gather, (m - 1) * (L + S), (m - 1) * (link + S / ways));
    check("direct", CommType::all_reduce, 2 * (L + (m - 1) * S / m), -1, 2 * (link + S / m));
    check("direct", CommType::reduce_scatter, L + (m - 1) * S / m, -1, link + S / m);
    check("direct", CommType::all_gather, L + (m - 1) * S, -1, link + S);
    check("direct", CommType::all_to_all, L + (m - 1) * S / m, -1, link + S / m);
    check("pairwise", CommType::all_to_all, (m - 1) * (L + S / m), -1, (m - 1) * (link + S / m));
    check("dissemination", CommType::barrier, K * L, -1, K * link);
    check("linear", CommType::scatter, L + (m - 1) * S / m, -1, link + S / m * (m - 1));
    check("linear", CommType::gather, L + (m - 1) * S);
    check("bruck", CommType::all_gather, K * L + (m - 1) * S, -1, K * link + (m - 1) * S);
    // 64 pieces: once through all members, and the other pieces behind the first.
    for (const CommType type : {CommType::broadcast, CommType::reduce})
      check("chain", type, (m - 1) * (L + S / 64) + 63 * S / 64, -1, (m - 1) * (link + S / 64) + 63 * S / 64);
    if (!std::has_single_bit(n)) continue;
    check("halving_doubling", CommType::all_reduce, 2 * K * L + 2 * (m - 1) / m * S, -1,
          2 * K * link + 2 * (m - 1) / m * S);
    check("halving_doubling", CommType::reduce_scatter, K * L + (m - 1) / m * S);
    check("halving_doubling", CommType::all_gather, K * L + (m - 1) * S);
    check("tree", CommType::broadcast, K * (L + S), -1, K * (link + S));
    check("tree", CommType::reduce, K * (L + S));
    check("tree", CommType::all_reduce, 2 * K * (L + S));
    check("tree", CommType::gather, K * L + (m - 1) * S);
    check("tree", CommType::scatter, K * L + (m - 1) / m * S);
    check("tree", CommType::barrier, 2 * K * L);
    check("bruck", CommType::all_to_all, K * (L + S / 2));
  }
}

/// Chunks go through the dimensions like equal jobs through machines: the sum of the parts for the first, and
/// the longest part once more for each further one.
TEST(Hierarchical, CostsWhatAPipelineDoes) {
  const double GiB = 1073741824.0;
  for (const uint64_t mib : {1, 4, 64}) {
    const uint64_t bytes = mib << 20;
    const net::Fabric net{{{TopologyKind::ring, 4, 200, 500},
                           {TopologyKind::fully_connected, 2, 100, 700},
                           {TopologyKind::switch_, 8, 50, 1000}}};
    for (const CommType type : {CommType::all_reduce, CommType::reduce_scatter, CommType::all_gather}) {
      const double whole = static_cast<double>(bytes) * (type == CommType::all_gather ? 64 : 1);
      const double chunks = std::clamp(whole / (1 << 20), 1.0, 8.0), S = whole / chunks;
      std::vector<double> parts{3 * (500e-9 + S / 4 / (200 * GiB)), 700e-9 + S / 8 / (100 * GiB),
                                7 * (2000e-9 + S / 64 / (50 * GiB))};
      if (type == CommType::all_reduce) parts.insert(parts.end(), {parts[0], parts[1], parts[2]});
      const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
      expect_time("hierarchical", type, net, bytes, sum + (chunks - 1) * *std::max_element(parts.begin(), parts.end()));
    }
  }
}

TEST(RunClosed, ALateMemberDelaysAll) {
  const uint32_t n = 8;
  const std::vector<int64_t> ranks = first_ranks(n);
  const net::Fabric net = fabric(TopologyKind::switch_, n);
  const Place place{&net, ranks};
  const Plan plan = find_algorithm("ring")->plan({CommType::all_reduce, kBytes, 0, {}}, place);
  std::vector<Picoseconds> together(n, 0), late(n, 0);
  run_closed(plan, place, together);
  late[3] = 1'000'000'000;
  run_closed(plan, place, late);
  EXPECT_NEAR(static_cast<double>(*std::max_element(late.begin(), late.end())),
              static_cast<double>(together[0] + 1'000'000'000), 1);
}

TEST(RunClosed, BeginsWhenEachMemberIsReady) {
  // 0 -> 1 -> 2; member 3 has no part and ends when it begins.
  const net::Fabric net{{{TopologyKind::switch_, 4, 1e12 / 1073741824.0, 1}}};  // a byte per ps, 2 ns
  const std::vector<int64_t> ranks = first_ranks(4);
  Plan plan{4, 1, {}};
  plan.rounds.resize(2);
  plan.rounds[0].list = {{0, 1, 100}};
  plan.rounds[1].list = {{1, 2, 50}};
  std::vector<Picoseconds> ready{10, 5000, -70, 3};
  run_closed(plan, {&net, ranks}, ready);
  EXPECT_EQ(ready, (std::vector<Picoseconds>{110, 5050, 7050, 3}));
}

TEST(RunClosed, TimesThatAreTooLongStayAtTheEnd) {
  const net::Fabric net{{{TopologyKind::ring, 4, 1e-300, 1e12}}};
  const std::vector<int64_t> ranks = first_ranks(4);
  for (const AlgorithmRow& row : kAlgorithms)
    for (const CommType type : types_of(row)) {
      if (row.grid) continue;
      for (const uint64_t bytes : {uint64_t{0}, UINT64_MAX}) {
        const std::vector<Picoseconds> starts{0, -kLongestPs, kLongestPs, 7};
        std::vector<Picoseconds> ready = starts;
        run_closed(row.plan({type, bytes, 0, {}}, {&net, ranks}), {&net, ranks}, ready);
        for (size_t i = 0; i < ready.size(); ++i) {
          EXPECT_LE(ready[i], kLongestPs);
          EXPECT_GE(ready[i], starts[i]);
        }
      }
    }
}

// ---- an independent run ---------------------------------------------------------------------------------------

/// A link of a dimension: which row of it, from which place, which way.
using LinkKey = std::tuple<size_t, int64_t, int64_t, int64_t>;

struct Way {
  std::vector<std::pair<LinkKey, long double>> links;  ///< with the share of the message that passes
  long double latency = 0;
};

/// Dimension by dimension, the inner first; round a ring, both ways where they are equally long.
Way way_of(const net::Fabric& net, int64_t from, int64_t to) {
  Way way;
  int64_t size = 1, at = from;
  for (size_t d = 0; d < net.dimensions.size(); ++d) {
    const net::Dimension& dim = net.dimensions[d];
    const int64_t n = dim.ranks, a = at / size % n, b = to / size % n;
    const int64_t row = at - a * size, on = (b - a + n) % n;
    at = row + b * size;
    size *= n;
    if (a == b) continue;
    int64_t hops = 1;
    if (dim.kind == TopologyKind::ring) {
      hops = std::min(on, n - on);
      const bool both = 2 * on == n && n > 2;
      if (2 * on <= n)
        for (int64_t k = 0; k < on; ++k) way.links.push_back({{d, row, (a + k) % n, 1}, both ? 0.5L : 1.0L});
      if (2 * on > n || both)
        for (int64_t k = 0; k < n - on; ++k) way.links.push_back({{d, row, (a - k + n) % n, -1}, both ? 0.5L : 1.0L});
    } else if (dim.kind == TopologyKind::switch_) {
      hops = 2;
      way.links.push_back({{d, row, a, 1}, 1});
      way.links.push_back({{d, row, b, -1}, 1});
    } else {
      way.links.push_back({{d, row, a * n + b, 0}, 1});
    }
    way.latency += std::round(static_cast<long double>(hops) * dim.latency_ns * 1000);
  }
  return way;
}

/// What links carry, and how long the busiest one of some takes.
struct Carried {
  const net::Fabric* net;
  std::map<LinkKey, long double> bytes;

  void add(const Way& way, uint64_t sent) {
    for (const auto& [link, share] : way.links) bytes[link] += share * static_cast<long double>(sent);
  }
  long double time(const LinkKey& link) const {
    const long double rate = static_cast<long double>(net->dimensions[std::get<0>(link)].gib_per_s) * 1073741824.0L;
    return bytes.at(link) / rate * 1e12L;
  }
  long double busiest(const Way& way) const {
    long double most = 0;
    for (const auto& [link, share] : way.links) most = std::max(most, time(link));
    return most;
  }
  long double busiest() const {
    long double most = 0;
    for (const auto& [link, sum] : bytes) most = std::max(most, time(link));
    return most;
  }
};

/// One event at a time: a transfer has left, a transfer has arrived.
std::vector<long double> run_events(const Plan& plan, const Place& place, const std::vector<Picoseconds>& ready) {
  struct Send {
    uint32_t to;
    uint64_t bytes;
    Way way;
  };
  struct Part {  // of a member in a round
    std::vector<Send> sends;
    int waits = 0;     // events that must still happen, its own sends included
    int blockers = 0;  // parts that must end before it begins
    std::vector<std::pair<uint32_t, uint32_t>> blocks;
  };
  std::map<std::pair<uint32_t, uint32_t>, Part> parts;  // round, member
  std::vector<Carried> carried(plan.rounds.size(), {place.fabric, {}});
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const auto add = [&](uint32_t from, uint32_t to, uint64_t bytes) {
      Part& sender = parts[{k, from}];
      sender.sends.push_back({to, bytes, way_of(*place.fabric, place.ranks[from], place.ranks[to])});
      carried[k].add(sender.sends.back().way, bytes);
      ++sender.waits;
      ++parts[{k, to}].waits;
    };
    const Round& round = plan.rounds[k];
    if (!round.list.empty()) {
      for (const Transfer& t : round.list) add(t.from, t.to, t.bytes);
    } else if (round.shift > 0) {
      const uint32_t extent = round.extent ? round.extent : plan.members;
      for (uint32_t i = 0; i < plan.members; ++i)
        for (uint64_t q = 0; q < round.shifts; ++q) {
          const uint64_t c = i / round.stride % extent, to = (c + round.shift + q * round.apart) % extent;
          add(i, static_cast<uint32_t>(i - c * round.stride + to * round.stride), round.bytes);
        }
    }
  }
  // A part waits for the part before it in its lane, and for the last one up to `after` in that lane.
  for (auto& [at, part] : parts) {
    const auto [k, member] = at;
    const auto wait_for = [&, k = k, member = member](int64_t last, uint32_t lane) {
      for (int64_t r = last; r >= 0; --r)
        if (plan.rounds[static_cast<size_t>(r)].lane == lane)
          if (const auto found = parts.find({static_cast<uint32_t>(r), member}); found != parts.end()) {
            found->second.blocks.emplace_back(k, member);
            ++parts[{k, member}].blockers;
            return;
          }
    };
    wait_for(int64_t{k} - 1, plan.rounds[k].lane);
    if (const int32_t after = plan.rounds[k].after; after >= 0)
      wait_for(after, plan.rounds[static_cast<size_t>(after)].lane);
  }
  struct Event {
    long double time;
    std::pair<uint32_t, uint32_t> part;
    bool starts;
    bool operator<(const Event& other) const { return time > other.time; }
  };
  std::priority_queue<Event> events;
  std::vector<long double> end(ready.begin(), ready.end());
  for (const auto& [at, part] : parts)
    if (part.blockers == 0) events.push({static_cast<long double>(ready[at.second]), at, true});
  size_t ended = 0;
  std::map<std::pair<uint32_t, uint32_t>, bool> begun;
  const auto finish = [&](std::pair<uint32_t, uint32_t> at, long double now) {
    ++ended;
    end[at.second] = std::max(end[at.second], now);
    for (const auto& next : parts[at].blocks)
      if (--parts[next].blockers == 0) events.push({now, next, true});
  };
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    Part& part = parts[event.part];
    if (event.starts) {
      begun[event.part] = true;
      for (const Send& send : part.sends) {
        const long double left = event.time + (send.bytes ? carried[event.part.first].busiest(send.way) : 0);
        events.push({left, event.part, false});
        events.push({left + send.way.latency, {event.part.first, send.to}, false});
      }
      if (part.waits == 0) finish(event.part, event.time);  // all has come before it began
    } else if (--part.waits == 0 && begun[event.part]) {
      finish(event.part, event.time);
    }
  }
  EXPECT_EQ(ended, parts.size());
  return end;
}

/// What the busiest link of all rounds takes beyond a run in which all begin together.
long double extra_of(const Plan& plan, const Place& place) {
  Carried all{place.fabric, {}};
  long double latency = INFINITY;
  for (const Round& round : plan.rounds)
    each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) {
      const Way way = way_of(*place.fabric, place.ranks[from], place.ranks[to]);
      all.add(way, bytes);
      latency = std::min(latency, way.latency);
    });
  const auto together = run_events(plan, place, std::vector<Picoseconds>(plan.members, 0));
  const long double end = *std::max_element(together.begin(), together.end());
  return all.busiest() > 0 ? std::max(0.0L, all.busiest() + latency - end) : 0;
}

Plan random_plan(Prng& random, uint32_t n) {
  Plan plan{n, static_cast<uint32_t>(random.between(1, 3)), {}};
  std::vector<int32_t> last(plan.lanes, -1);
  const auto rounds = random.between(0, 12);
  for (int64_t k = 0; k < rounds; ++k) {
    Round round;
    round.lane = static_cast<uint32_t>(random.below(plan.lanes));
    if (const auto other = random.below(plan.lanes); random.chance(0.5) && other != round.lane)
      round.after = last[other];
    // Rounds tend to repeat what was before them.
    if (k > 0 && random.chance(0.4)) {
      const Round& before = plan.rounds.back();
      round.shift = before.shift;
      round.shifts = before.shifts;
      round.apart = before.apart;
      round.stride = before.stride;
      round.extent = before.extent;
      round.list = before.list;
    } else if (n > 1 && random.chance(0.5)) {
      std::vector<std::pair<uint32_t, uint32_t>> grids;
      for (uint32_t stride = 1; stride <= n; ++stride)
        for (uint32_t extent = 2; stride * extent <= n; ++extent)
          if (n % (stride * extent) == 0) grids.emplace_back(stride, extent);
      std::tie(round.stride, round.extent) = grids[random.below(grids.size())];
      const uint32_t extent = round.extent;
      round.shift = static_cast<uint32_t>(random.between(1, extent - 1));
      round.apart = static_cast<uint32_t>(random.between(1, extent));
      // As many as do not meet the sender or a target again.
      std::set<uint32_t> met{0};
      uint32_t most = 0;
      for (uint32_t at = round.shift; met.insert(at).second; at = (at + round.apart) % extent) ++most;
      round.shifts = static_cast<uint32_t>(random.between(1, most));
      if (round.stride == 1 && extent == n && random.chance(0.5)) round.extent = 0;
    } else if (n > 1) {
      std::set<std::pair<uint32_t, uint32_t>> pairs;
      for (int64_t i = random.between(0, 2 * n); i > 0; --i) {
        const auto from = static_cast<uint32_t>(random.below(n)), to = static_cast<uint32_t>(random.below(n));
        if (from != to && pairs.emplace(from, to).second) round.list.push_back({from, to, random.below(1 << 22)});
      }
    }
    round.bytes = random.chance(0.2) ? 0 : random.below(1 << 22);
    last[round.lane] = static_cast<int32_t>(k);
    plan.rounds.push_back(std::move(round));
  }
  return plan;
}

void compare(const Plan& plan, const Place& place, const std::vector<Picoseconds>& starts) {
  std::vector<Picoseconds> ready = starts;
  run_closed(plan, place, ready);
  const std::vector<long double> expected = run_events(plan, place, starts);
  const long double extra = plan.members < 2 ? 0 : extra_of(plan, place);
  for (size_t i = 0; i < ready.size(); ++i) {
    const auto end = static_cast<double>(std::max(static_cast<long double>(starts[i]), expected[i] + extra));
    ASSERT_NEAR(static_cast<double>(ready[i]), end, 1 + 1e-6 * static_cast<double>(extra)) << "member " << i;
  }
}

std::vector<Picoseconds> random_starts(Prng& random, size_t n) {
  std::vector<Picoseconds> starts(n, random.between(-1000, 1'000'000'000));
  if (random.chance(0.6))
    for (Picoseconds& start : starts) start += random.between(0, random.chance(0.5) ? 100'000'000 : 5);
  return starts;
}

TEST(RunClosed, AgreesWithAnEventDrivenRunOnRandomPlans) {
  Prng random(3);
  for (int i = 0; i < 4000; ++i) {
    const net::Fabric net = random_fabric(random, 24);
    std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net.size()));
    for (size_t k = ranks.size(); k > 1 && random.chance(0.3); --k) std::swap(ranks[k - 1], ranks[random.below(k)]);
    if (random.chance(0.3)) ranks.resize(static_cast<size_t>(random.between(1, net.size())));
    const Place place{&net, ranks};
    const Plan plan = random_plan(random, place.members());
    for (const Round& round : plan.rounds) {
      Pairs pairs;
      each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t bytes) { pairs[{from, to}] += bytes; });
      ASSERT_EQ(pairs, expand(plan, round));
    }
    compare(plan, place, random_starts(random, ranks.size()));
    if (HasFailure()) FAIL() << "plan " << i << " on " << net.describe();
  }
}

TEST(RunClosed, AgreesWithAnEventDrivenRunOnEveryAlgorithm) {
  Prng random(5);
  for (int i = 0; i < 40; ++i)
    for (const AlgorithmRow& row : kAlgorithms)
      for (const CommType type : types_of(row)) {
        const net::Fabric net = random_fabric(random, 24);
        std::vector<int64_t> ranks = first_ranks(static_cast<uint32_t>(net.size()));
        if (random.chance(0.3)) std::erase_if(ranks, [&](int64_t r) { return r > 0 && random.chance(0.4); });
        const Place place{&net, ranks};
        const Operation op{type, random.below(4 << 20), static_cast<uint32_t>(random.below(ranks.size())), {}};
        if (!row.can(op, place)) continue;
        compare(row.plan(op, place), place, random_starts(random, ranks.size()));
        if (HasFailure()) FAIL() << row.name << " " << trace::name(type) << " on " << net.describe();
      }
}

// ---- which one -----------------------------------------------------------------------------------------------

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

TEST(Selection, RulesHoldWhereTheyCan) {
  const net::Fabric line = fabric(TopologyKind::ring, 8);
  const std::vector<uint64_t> splits(64, 1);
  const std::vector<int64_t> ranks = first_ranks(8);
  const Place place{&line, ranks};
  const auto asked = parse_selection("allreduce: hierarchical; alltoall: ring");
  EXPECT_EQ(by_rule(*asked, {CommType::all_reduce, 64, 0, {}}, place), nullptr);  // the line is not a grid
  EXPECT_FALSE(choose(*asked, {CommType::all_reduce, 64, 0, {}}, place).by_rule);
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

/// Seven links of a rank against two, and pairs with a link of their own against what goes round the ring.
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
        do rule.algorithm = &kAlgorithms[random.below(kAlgorithmCount)];
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
  const auto tag = [](std::string_view text) { return testing::tag_of(parse_selection(text)); };
  EXPECT_EQ(tag("ring"), "coll.selection.syntax");
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
