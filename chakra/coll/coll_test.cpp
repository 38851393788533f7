// Each algorithm's plan, executed with symbols, must deliver what the operation promises; its price must
// be the formula's.
#include "chakra/coll/coll.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace chakra::coll {
namespace {

using trace::CommType;

constexpr uint64_t kBytes = 12'252'240;  // divisible by 2 .. 18

/// Who has contributed to what each member holds of each block.
using Contents = std::map<uint32_t, std::set<uint32_t>>;

std::vector<Contents> before(CommType type, uint32_t n, uint64_t bytes, uint32_t root) {
  std::vector<Contents> state(n);
  const uint32_t pieces = type == CommType::broadcast || type == CommType::reduce
                              ? static_cast<uint32_t>(std::clamp<uint64_t>(bytes / (128 << 10), 1, 64))
                              : n;
  for (uint32_t i = 0; i < n; ++i) switch (type) {
      case CommType::all_reduce:
      case CommType::reduce_scatter:
      case CommType::reduce_scatter_block:
      case CommType::reduce:
        for (uint32_t b = 0; b < pieces; ++b) state[i][b] = {i};
        break;
      case CommType::all_gather:
      case CommType::gather:
      case CommType::barrier: state[i][i] = {i}; break;
      case CommType::scatter:
      case CommType::broadcast:
        for (uint32_t b = 0; i == root && b < pieces; ++b) state[i][b] = {root};
        break;
      default:
        for (uint32_t to = 0; to < n; ++to) state[i][i * n + to] = {i};
    }
  return state;
}

void run(const AlgorithmRow& row, uint32_t n, uint64_t bytes, uint32_t root, std::vector<Contents>& state) {
  const Plan plan = row.plan(n, bytes, root);
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const std::vector<Contents> old = state;  // all of a round happens at once
    const Round& round = plan.rounds[k];
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> moved;
    for (const Move& move : row.moves(n, bytes, root, k)) {
      const auto held = old[move.from].find(move.block);
      ASSERT_NE(held, old[move.from].end()) << row.name << ": member " << move.from << " sends a block it has not";
      std::set<uint32_t>& to = state[move.to][move.block];
      if (move.reduce) {
        for (const uint32_t who : held->second)
          ASSERT_TRUE(to.insert(who).second) << row.name << ": " << who << " counted twice";
      } else {
        to = held->second;
      }
      ++moved[{move.from, move.to}];
    }
    // The plan's transfers are exactly the pairs that move blocks, and carry that many blocks' bytes.
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> planned;
    if (round.list.empty()) {
      for (uint32_t i = 0; i < n; ++i) planned[{i, (i + round.shift) % n}] = round.bytes;
    } else {
      for (const Transfer& t : round.list) planned[{t.from, t.to}] = t.bytes;
    }
    ASSERT_EQ(planned.size(), moved.size()) << row.name;
    for (const auto& [pair, count] : moved) {
      ASSERT_TRUE(planned.contains(pair)) << row.name;
      const bool whole = row.type == CommType::all_gather || row.type == CommType::gather;
      const auto pieces = std::clamp<uint64_t>(bytes / (128 << 10), 1, 64);
      const bool chain = row.type == CommType::broadcast || row.type == CommType::reduce;
      const uint64_t block = row.type == CommType::barrier ? 0
                             : whole                       ? bytes
                             : chain                       ? (bytes + pieces - 1) / pieces
                                                           : (bytes + n - 1) / n;
      EXPECT_EQ(planned[pair], count * block) << row.name << " round " << k;
    }
  }
}

void check_after(CommType type, uint32_t n, uint32_t root, std::vector<Contents>& state,
                 const std::vector<Contents>& first) {
  std::set<uint32_t> everyone;
  for (uint32_t i = 0; i < n; ++i) everyone.insert(i);
  for (uint32_t i = 0; i < n; ++i) switch (type) {
      case CommType::all_reduce:
        for (uint32_t b = 0; b < n; ++b) EXPECT_EQ(state[i][b], everyone);
        break;
      case CommType::reduce_scatter:
      case CommType::reduce_scatter_block: EXPECT_EQ(state[i][i], everyone); break;
      case CommType::all_gather:
      case CommType::barrier:
        for (uint32_t b = 0; b < n; ++b) EXPECT_EQ(state[i][b], std::set<uint32_t>{b});
        break;
      case CommType::gather:
        for (uint32_t b = 0; i == root && b < n; ++b) EXPECT_EQ(state[i][b], std::set<uint32_t>{b});
        break;
      case CommType::scatter: EXPECT_EQ(state[i][i], std::set<uint32_t>{root}); break;
      case CommType::broadcast:
        for (const auto& [b, who] : first[root]) EXPECT_EQ(state[i][b], who);
        break;
      case CommType::reduce:
        for (const auto& [b, who] : first[root])
          if (i == root) {
            EXPECT_EQ(state[i][b], everyone);
          }
        break;
      default:
        for (uint32_t from = 0; from < n; ++from) EXPECT_EQ(state[i][from * n + i], std::set<uint32_t>{from});
    }
}

bool has_root(CommType type) {
  return type == CommType::broadcast || type == CommType::reduce || type == CommType::gather ||
         type == CommType::scatter;
}

TEST(Algorithms, DeliverWhatTheOperationPromises) {
  for (const AlgorithmRow& row : kAlgorithms)
    for (uint32_t n = 2; n <= 33; ++n)
      for (const uint32_t root : {0u, n / 2, n - 1})
        for (const uint64_t bytes : {uint64_t{1}, kBytes}) {
          if (root > 0 && !has_root(row.type)) continue;
          std::vector<Contents> state = before(row.type, n, bytes, root);
          const std::vector<Contents> first = state;
          run(row, n, bytes, root, state);
          check_after(row.type, n, root, state, first);
          if (HasFailure())
            FAIL() << trace::name(row.type) << " " << row.name << ", " << n << " members, root " << root;
        }
}

TEST(Algorithms, TableIsInTheOrderOfTheOperations) {
  for (size_t i = 0; i < kAlgorithms.size(); ++i) EXPECT_EQ(static_cast<size_t>(kAlgorithms[i].type), i);
}

TEST(Algorithms, OneMemberNeedsNoRound) {
  for (const AlgorithmRow& row : kAlgorithms) EXPECT_TRUE(row.plan(1, 1000, 0).rounds.empty()) << trace::name(row.type);
}

net::Fabric fabric(net::TopologyKind kind, int64_t ranks) { return {{{kind, ranks, 50, 500}}}; }

TEST(RunClosed, EqualsTheFormula) {
  const double rate = 50 * 1073741824.0, latency = 500e-9, bytes = static_cast<double>(kBytes);
  for (const uint32_t n : {2u, 3u, 8u, 16u}) {
    struct Row {
      CommType type;
      double seconds;
    };
    const double m = n;
    for (const Row& row : {Row{CommType::all_reduce, 2 * (m - 1) * (latency + bytes / m / rate)},
                           Row{CommType::all_gather, (m - 1) * (latency + bytes / rate)},
                           Row{CommType::reduce_scatter, (m - 1) * (latency + bytes / m / rate)},
                           Row{CommType::all_to_all, (m - 1) * latency + (m - 1) * bytes / 2 / rate},
                           Row{CommType::barrier, std::ceil(std::log2(m)) * latency}, Row{CommType::gather, 0}}) {
      if (row.type == CommType::gather || (row.type == CommType::barrier && n > 3))
        continue;  // not all steps have equal latency there
      std::vector<int64_t> ranks;
      for (uint32_t i = 0; i < n; ++i) ranks.push_back(i);
      std::vector<Picoseconds> ready(n, 1'000'000);
      run_closed(algorithm(row.type).plan(n, kBytes, 0), fabric(net::TopologyKind::ring, n), ranks, ready);
      for (const Picoseconds end : ready)
        EXPECT_NEAR(static_cast<double>(end - 1'000'000), row.seconds * 1e12, 2.0 * n)
            << trace::name(row.type) << " of " << n;
    }
  }
}

TEST(RunClosed, ALateMemberDelaysAll) {
  const uint32_t n = 8;
  std::vector<int64_t> ranks{0, 1, 2, 3, 4, 5, 6, 7};
  const Plan plan = algorithm(CommType::all_reduce).plan(n, kBytes, 0);
  std::vector<Picoseconds> together(n, 0), late(n, 0);
  run_closed(plan, fabric(net::TopologyKind::switch_, n), ranks, together);
  late[3] = 1'000'000'000;
  run_closed(plan, fabric(net::TopologyKind::switch_, n), ranks, late);
  EXPECT_EQ(*std::max_element(late.begin(), late.end()), together[0] + 1'000'000'000);
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CommType::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CommType::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CommType::all_gather, 4), 3);  // of the shard: 3/4 of the whole
  EXPECT_DOUBLE_EQ(bus_factor(CommType::broadcast, 4), 1);
}

}  // namespace
}  // namespace chakra::coll
