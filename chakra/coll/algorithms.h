// What the algorithms share: small arithmetic on members and blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "chakra/coll/coll.h"

namespace chakra::coll {

using trace::CommType;
using Moves = std::vector<Move>;

/// Sums and products stay at 2^64 - 1.
inline uint64_t times(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? UINT64_MAX : product;
}
inline uint64_t plus(uint64_t left, uint64_t right) {
  uint64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

/// k places on from member i of n, k may be negative.
inline uint32_t turn(uint32_t i, int64_t k, uint32_t n) {
  const int64_t m = (static_cast<int64_t>(i) + k) % static_cast<int64_t>(n);
  return static_cast<uint32_t>(m < 0 ? m + n : m);
}

/// Powers of two below n: rounds in which the known part doubles.
inline uint32_t doublings(uint32_t n) { return static_cast<uint32_t>(std::bit_width(n - 1)); }

inline bool gathers(CommType type) { return type == CommType::all_gather || type == CommType::gather; }
inline bool scatters_sum(CommType type) {
  return type == CommType::reduce_scatter || type == CommType::reduce_scatter_block;
}

/// One of `parts` equal parts of a buffer, whole elements.
inline uint64_t part_bytes(const Operation& op, uint64_t parts) {
  const auto split = [](uint64_t whole, uint64_t into) { return whole / into + (whole % into != 0); };
  return times(split(split(op.bytes, op.element), parts), op.element);
}

/// `parts`: how many units `bytes` is cut into.
inline Outline outline_of(const Operation& op, const Place& place, uint64_t parts) {
  Outline o;
  o.type = op.type;
  o.members = place.members();
  o.root = op.root;
  o.splits = op.splits;
  o.units = op.type == CommType::barrier                          ? o.members
            : gathers(op.type) || op.type == CommType::all_to_all ? o.members * parts
                                                                  : parts;
  o.unit_bytes = op.type == CommType::barrier ? 0 : part_bytes(op, parts);
  return o;
}

/// Whom one of n sends to in round k of doublings(n), and which blocks: `count` from `first` on, mod n. Results as
/// Bruck et al. (1997) gather them: each has the blocks of 2^k from its own on, and passes them 2^k places back. Sums
/// take the same way in the opposite direction, the last round first: for any n no byte more than round a ring (Traeff,
/// "Optimal, non-pipelined reduce-scatter and allreduce", 2024).
struct DoublingStep {
  uint32_t to, first, count;
};
inline DoublingStep doubling_step(uint32_t i, uint32_t k, uint32_t n, bool sums) {
  const uint32_t distance = 1u << (sums ? doublings(n) - 1 - k : k), count = std::min(distance, n - distance);
  const uint32_t to = turn(i, sums ? int64_t{distance} : -int64_t{distance}, n);
  return {to, sums ? to : i, count};
}

/// Units base + (first, first + 1, ... mod n).
inline void move_wrapped(Moves& moves, uint32_t from, uint32_t to, uint64_t base, uint32_t first, uint32_t count,
                         uint32_t n) {
  const uint32_t straight = std::min(count, n - first);
  if (straight > 0) moves.push_back({from, to, base + first, straight, 1, false});
  if (count > straight) moves.push_back({from, to, base, count - straight, 1, false});
}

/// Into how many pieces a pipeline of n members cuts `bytes`, so that all links work at once: of 128 KiB or more.
inline uint32_t pieces_of(uint64_t bytes, uint32_t n) {
  constexpr uint64_t kPieceBytes = uint64_t{128} << 10, kMostPieces = 64;
  constexpr uint64_t kMostPieceTransfers = uint64_t{1} << 21;  // members x pieces
  const uint64_t most = std::clamp<uint64_t>(kMostPieceTransfers / n, 1, kMostPieces);
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes / kPieceBytes, 1, most));
}

/// Into how many chunks a hierarchy cuts the buffer, each on its way while the one before it is on the next leg: of 1
/// MiB or more, and the more, the fewer rounds a chunk takes. On its first and last leg the other links idle: with 32
/// chunks that is a thirty-second part.
inline uint32_t chunks_of(const Operation& op, uint32_t members, uint32_t rounds) {
  constexpr uint64_t kChunkBytes = uint64_t{1} << 20, kFewChunks = 8, kMostChunks = 32, kRounds = 256;
  const uint64_t whole = op.type == CommType::all_gather ? times(op.bytes, members) : op.bytes;
  const uint64_t most = std::clamp<uint64_t>(std::bit_floor(kRounds / std::max(rounds, 1u)), kFewChunks, kMostChunks);
  return static_cast<uint32_t>(std::clamp<uint64_t>(whole / kChunkBytes, 1, most));
}

/// Adds the phases of chunks that follow each other, each in a lane: a chunk enters a leg of the way when the chunk
/// before it has left it. set(leg, phase) says what a phase is and how many rounds it has. `lane`: of the first chunk.
template <class Set>
void follow_each_other(Outline& o, uint32_t chunks, uint32_t legs, const Set& set, uint32_t lane = 0) {
  if (chunks == 0) return;
  // Listed diagonal by diagonal, the chunk behind first, so that what it waits for is the last that is listed of the
  // chunk before it.
  std::vector<int32_t> last(chunks, -1);
  for (uint32_t diagonal = 0; diagonal + 1 < chunks + legs; ++diagonal)
    for (uint32_t c = std::min(diagonal, chunks - 1) + 1; c-- > 0 && diagonal - c < legs;) {
      Phase& phase = o.phases.emplace_back();
      phase.lane = phase.slice = lane + c;
      phase.first = o.rounds;
      phase.after = c > 0 ? last[c - 1] : -1;
      set(diagonal - c, phase);
      o.rounds += phase.rounds;
      last[c] = static_cast<int32_t>(o.rounds) - 1;
    }
}

/// The phase of round k.
inline const Phase& phase_of(const Outline& o, uint32_t k) {
  return *std::prev(std::upper_bound(o.phases.begin(), o.phases.end(), k,
                                     [](uint32_t round, const Phase& p) { return round < p.first; }));
}

/// What switches that reduce carry for these members; none where no tree of such switches joins them.
std::optional<SwitchTraffic> switch_traffic(CommType type, const Place& place);

/// Members fill a grid, and switches reduce in one of its dimensions or more.
bool reduces_in_grid(const Place& place);

/// Why the program cannot do this operation of that many members; empty where it can. Requires the operation's type.
std::string misfit(const Program& program, const Operation& op, uint32_t members);
/// The program's plan for the operation's bytes.
Plan scaled(const Program& program, const Operation& op);

/// Members by node, those of a node by their place in it: two nodes or more of two members or more; else empty.
std::vector<std::vector<uint32_t>> nodes_of(const Place& place);

}  // namespace chakra::coll
