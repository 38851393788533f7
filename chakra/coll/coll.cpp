#include "chakra/coll/coll.h"

#include <algorithm>

namespace chakra::coll {
namespace {

using trace::CommType;

/// Chains (broadcast, reduce) pass the data on in pieces of this size, so that all links work at once.
constexpr uint64_t kPipelineBytes = uint64_t{128} << 10;
constexpr uint64_t kMostPieces = 64;

uint64_t share(uint64_t bytes, uint32_t members) { return (bytes + members - 1) / members; }

/// k places on from member i, k may be negative.
uint32_t step(uint32_t i, int64_t k, uint32_t n) {
  const int64_t m = (static_cast<int64_t>(i) + k) % static_cast<int64_t>(n);
  return static_cast<uint32_t>(m < 0 ? m + n : m);
}

Plan shifts(uint32_t n, uint32_t rounds, uint64_t bytes) {
  Plan plan{n, {}};
  if (n > 1) plan.rounds.assign(rounds, Round{1, bytes, {}});
  return plan;
}

// ---- ring: reduce-scatter, all-gather, all-reduce --------------------------------------------------

Plan ring_reduce_scatter(uint32_t n, uint64_t bytes, uint32_t) { return shifts(n, n - 1, share(bytes, n)); }
/// In round k member i passes on block i - k - 1, so that block i ends complete at member i.
std::vector<Move> ring_reduce_scatter_moves(uint32_t n, uint64_t, uint32_t, uint32_t k) {
  std::vector<Move> moves;
  for (uint32_t i = 0; i < n; ++i) moves.push_back({i, step(i, 1, n), step(i, -int64_t{k} - 1, n), true});
  return moves;
}

Plan ring_all_gather(uint32_t n, uint64_t bytes, uint32_t) { return shifts(n, n - 1, bytes); }
std::vector<Move> ring_all_gather_moves(uint32_t n, uint64_t, uint32_t, uint32_t k) {
  std::vector<Move> moves;
  for (uint32_t i = 0; i < n; ++i) moves.push_back({i, step(i, 1, n), step(i, -int64_t{k}, n), false});
  return moves;
}

Plan ring_all_reduce(uint32_t n, uint64_t bytes, uint32_t) { return shifts(n, 2 * (n - 1), share(bytes, n)); }
std::vector<Move> ring_all_reduce_moves(uint32_t n, uint64_t bytes, uint32_t root, uint32_t k) {
  return k < n - 1 ? ring_reduce_scatter_moves(n, bytes, root, k) : ring_all_gather_moves(n, bytes, root, k - (n - 1));
}

// ---- ring: all-to-all --------------------------------------------------------------------------------

/// All blocks go round the same way; each round drops those that have arrived.
Plan ring_all_to_all(uint32_t n, uint64_t bytes, uint32_t) {
  Plan plan{n, {}};
  for (uint32_t k = 1; k < n; ++k) plan.rounds.push_back({1, (n - k) * share(bytes, n), {}});
  return plan;
}
std::vector<Move> ring_all_to_all_moves(uint32_t n, uint64_t, uint32_t, uint32_t k) {
  std::vector<Move> moves;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t origin = step(i, -int64_t{k}, n);
    for (uint32_t distance = k + 1; distance < n; ++distance)
      moves.push_back({i, step(i, 1, n), origin * n + step(origin, distance, n), false});
  }
  return moves;
}

// ---- chains: broadcast, reduce -----------------------------------------------------------------------

uint32_t pieces(uint64_t bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes / kPipelineBytes, 1, kMostPieces));
}

/// Place p of the chain passes piece r - p on in round r. `toward_root` turns the chain round.
template <class Use>
void chain_round(uint32_t n, uint64_t bytes, uint32_t root, uint32_t round, bool toward_root, const Use& use) {
  for (uint32_t p = 0; p + 1 < n; ++p) {
    if (round < p || round - p >= pieces(bytes)) continue;
    if (toward_root) use(step(root, -int64_t{n} + 1 + p, n), step(root, -int64_t{n} + 2 + p, n), round - p);
    else use(step(root, p, n), step(root, int64_t{p} + 1, n), round - p);
  }
}
Plan chain(uint32_t n, uint64_t bytes, uint32_t root, bool toward_root) {
  Plan plan{n, {}};
  if (n < 2) return plan;
  for (uint32_t r = 0; r < n - 1 + pieces(bytes) - 1; ++r) {
    Round round;
    chain_round(n, bytes, root, r, toward_root, [&](uint32_t from, uint32_t to, uint32_t) {
      round.list.push_back({from, to, share(bytes, pieces(bytes))});
    });
    plan.rounds.push_back(std::move(round));
  }
  return plan;
}
std::vector<Move> chain_moves(uint32_t n, uint64_t bytes, uint32_t root, uint32_t r, bool toward_root) {
  std::vector<Move> moves;
  chain_round(n, bytes, root, r, toward_root, [&](uint32_t from, uint32_t to, uint32_t piece) {
    moves.push_back({from, to, piece, toward_root});
  });
  return moves;
}
Plan chain_broadcast(uint32_t n, uint64_t bytes, uint32_t root) { return chain(n, bytes, root, false); }
std::vector<Move> chain_broadcast_moves(uint32_t n, uint64_t bytes, uint32_t root, uint32_t r) {
  return chain_moves(n, bytes, root, r, false);
}
Plan chain_reduce(uint32_t n, uint64_t bytes, uint32_t root) { return chain(n, bytes, root, true); }
std::vector<Move> chain_reduce_moves(uint32_t n, uint64_t bytes, uint32_t root, uint32_t r) {
  return chain_moves(n, bytes, root, r, true);
}

// ---- one by one: gather, scatter ---------------------------------------------------------------------

Plan linear_gather(uint32_t n, uint64_t bytes, uint32_t root) {
  Plan plan{n, {}};
  for (uint32_t k = 1; k < n; ++k) plan.rounds.push_back({0, 0, {{step(root, k, n), root, bytes}}});
  return plan;
}
std::vector<Move> linear_gather_moves(uint32_t n, uint64_t, uint32_t root, uint32_t k) {
  return {{step(root, int64_t{k} + 1, n), root, step(root, int64_t{k} + 1, n), false}};
}
Plan linear_scatter(uint32_t n, uint64_t bytes, uint32_t root) {
  Plan plan{n, {}};
  for (uint32_t k = 1; k < n; ++k) plan.rounds.push_back({0, 0, {{root, step(root, k, n), share(bytes, n)}}});
  return plan;
}
std::vector<Move> linear_scatter_moves(uint32_t n, uint64_t, uint32_t root, uint32_t k) {
  return {{root, step(root, int64_t{k} + 1, n), step(root, int64_t{k} + 1, n), false}};
}

// ---- dissemination: barrier --------------------------------------------------------------------------

Plan dissemination_barrier(uint32_t n, uint64_t, uint32_t) {
  Plan plan{n, {}};
  for (uint32_t distance = 1; distance < n; distance *= 2) plan.rounds.push_back({distance, 0, {}});
  return plan;
}
/// Block b at a member: it knows that b has arrived. In round k it tells all it knows 2^k places on.
std::vector<Move> dissemination_barrier_moves(uint32_t n, uint64_t, uint32_t, uint32_t k) {
  std::vector<Move> moves;
  const uint32_t distance = 1u << k;
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t known = 0; known < std::min(distance, n); ++known)
      moves.push_back({i, step(i, distance, n), step(i, -int64_t{known}, n), false});
  return moves;
}

}  // namespace

const std::array<AlgorithmRow, 10> kAlgorithms{{
    {CommType::all_reduce, "ring", "reduce-scatter, then all-gather: 2 (n-1) (L + S/(n B))", ring_all_reduce,
     ring_all_reduce_moves},
    {CommType::reduce, "chain", "pieces of 128 KiB passed on towards the root", chain_reduce, chain_reduce_moves},
    {CommType::all_gather, "ring", "each shard goes round: (n-1) (L + S/B)", ring_all_gather, ring_all_gather_moves},
    {CommType::gather, "linear", "one member after the other sends to the root: (n-1) (L + S/B)", linear_gather,
     linear_gather_moves},
    {CommType::scatter, "linear", "the root sends to one member after the other: (n-1) (L + S/(n B))", linear_scatter,
     linear_scatter_moves},
    {CommType::broadcast, "chain", "pieces of 128 KiB passed on from the root", chain_broadcast, chain_broadcast_moves},
    {CommType::all_to_all, "ring", "all blocks go round one way: (n-1) L + (n-1) S/(2 B)", ring_all_to_all,
     ring_all_to_all_moves},
    {CommType::reduce_scatter, "ring", "partial sums go round: (n-1) (L + S/(n B))", ring_reduce_scatter,
     ring_reduce_scatter_moves},
    {CommType::reduce_scatter_block, "ring", "as reduce-scatter", ring_reduce_scatter, ring_reduce_scatter_moves},
    {CommType::barrier, "dissemination", "each tells 1, 2, 4, ... places on: ceil(log2 n) L", dissemination_barrier,
     dissemination_barrier_moves},
}};

const AlgorithmRow& algorithm(CommType type) { return kAlgorithms[static_cast<size_t>(type)]; }

void run_closed(const Plan& plan, const net::Fabric& fabric, std::span<const int64_t> ranks,
                std::span<Picoseconds> ready) {
  const uint32_t n = plan.members;
  std::vector<Picoseconds> before(ready.begin(), ready.end());
  // Paths repeat from round to round as long as the shift does.
  std::vector<net::Path> paths(n);
  uint32_t shift_of_paths = 0;
  for (const Round& round : plan.rounds) {
    std::copy(ready.begin(), ready.end(), before.begin());
    if (round.list.empty()) {
      if (round.shift != shift_of_paths) {
        for (uint32_t i = 0; i < n; ++i) paths[i] = fabric.path(ranks[i], ranks[step(i, round.shift, n)]);
        shift_of_paths = round.shift;
      }
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t to = step(i, round.shift, n);
        const Picoseconds left = add_saturated(before[i], net::serialization(round.bytes, paths[i].bytes_per_s));
        ready[i] = std::max(ready[i], left);
        ready[to] = std::max(ready[to], add_saturated(left, paths[i].latency_ps));
      }
      continue;
    }
    for (const Transfer& t : round.list) {
      const net::Path path = fabric.path(ranks[t.from], ranks[t.to]);
      const Picoseconds left = add_saturated(before[t.from], net::serialization(t.bytes, path.bytes_per_s));
      ready[t.from] = std::max(ready[t.from], left);
      ready[t.to] = std::max(ready[t.to], add_saturated(left, path.latency_ps));
    }
  }
}

double bus_factor(CommType type, uint32_t members) {
  const double n = members;
  switch (type) {
    case CommType::all_reduce: return 2 * (n - 1) / n;
    case CommType::all_gather: return n - 1;  // S is one member's shard here
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block:
    case CommType::all_to_all: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace chakra::coll
