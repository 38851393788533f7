// Arithmetic on members and blocks for all algorithms.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "chakra/coll/coll.h"

namespace chakra::coll {

using trace::CommType;
using Moves = std::vector<Move>;

/// Return the member k places after member i of n; k may be negative.
inline uint32_t turn(uint32_t i, int64_t k, uint32_t n) {
  const int64_t m = (static_cast<int64_t>(i) + k) % static_cast<int64_t>(n);
  return static_cast<uint32_t>(m < 0 ? m + n : m);
}

/// Return the number of powers of two below n: rounds in which the known part doubles.
inline uint32_t doublings(uint32_t n) { return static_cast<uint32_t>(std::bit_width(n - 1)); }

inline bool gathers(CommType type) { return type == CommType::all_gather || type == CommType::gather; }
inline bool scatters_sum(CommType type) {
  return type == CommType::reduce_scatter || type == CommType::reduce_scatter_block;
}

/// Return the bytes of one of `parts` equal parts of a buffer, in whole elements.
inline uint64_t part_bytes(const Operation& op, uint64_t parts) {
  const auto split = [](uint64_t whole, uint64_t into) { return whole / into + (whole % into != 0); };
  return multiply_bytes(split(split(op.bytes, op.element), parts), op.element);
}

/// Return an outline that cuts `bytes` into `parts` units.
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

/// The receiver of member i of n in round k of doublings(n), and the blocks sent: `count` from `first` on, mod n.
/// Results are gathered as by Bruck et al. (1997): each member has the blocks of 2^k members, starting with its own,
/// and sends the blocks 2^k places back. Sums take the same way in the opposite direction, the last round first: for
/// any n no byte more than round a ring (Traeff, "Optimal, non-pipelined reduce-scatter and allreduce", 2024).
struct DoublingStep {
  uint32_t to, first, count;
};
inline DoublingStep doubling_step(uint32_t i, uint32_t k, uint32_t n, bool sums) {
  const uint32_t distance = 1u << (sums ? doublings(n) - 1 - k : k), count = std::min(distance, n - distance);
  const uint32_t to = turn(i, sums ? int64_t{distance} : -int64_t{distance}, n);
  return {to, sums ? to : i, count};
}

/// Move units base + (first, first + 1, ... mod n).
inline void move_wrapped(Moves& moves, uint32_t from, uint32_t to, uint64_t base, uint32_t first, uint32_t count,
                         uint32_t n) {
  const uint32_t straight = std::min(count, n - first);
  if (straight > 0) moves.push_back({from, to, base + first, straight, 1, false});
  if (count > straight) moves.push_back({from, to, base, count - straight, 1, false});
}

/// Return how many pieces of 128 KiB or more a pipeline of n members makes of `bytes`, so that all links work at once.
inline uint32_t pieces_of(uint64_t bytes, uint32_t n) {
  constexpr uint64_t kPieceBytes = uint64_t{128} << 10, kMostPieces = 64;
  constexpr uint64_t kMostPieceTransfers = uint64_t{1} << 21;  // members x pieces
  const uint64_t most = std::clamp<uint64_t>(kMostPieceTransfers / n, 1, kMostPieces);
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes / kPieceBytes, 1, most));
}

/// Return the number of chunks into which a hierarchy cuts the buffer; each chunk moves while the chunk
/// before is on the next leg. A chunk has 1 MiB or more; the fewer rounds a chunk takes, the more
/// chunks. On the first and last leg the other links idle: with 32 chunks for a thirty-second part.
inline uint32_t chunks_of(const Operation& op, uint32_t members, uint32_t rounds) {
  constexpr uint64_t kChunkBytes = uint64_t{1} << 20, kFewChunks = 8, kMostChunks = 32, kRounds = 256;
  const uint64_t whole = op.type == CommType::all_gather ? multiply_bytes(op.bytes, members) : op.bytes;
  const uint64_t most = std::clamp<uint64_t>(std::bit_floor(kRounds / std::max(rounds, 1u)), kFewChunks, kMostChunks);
  return static_cast<uint32_t>(std::clamp<uint64_t>(whole / kChunkBytes, 1, most));
}

/// Add the phases of successive chunks, each chunk in a lane: a chunk enters a leg of the way when the chunk
/// before has left the leg. set(leg, phase) fills a phase and its number of rounds. `lane`: of the first chunk.
template <class Set>
void follow_each_other(Outline& o, uint32_t chunks, uint32_t legs, const Set& set, uint32_t lane = 0) {
  if (chunks == 0) return;
  // List the phases diagonal by diagonal, the later chunk first, so
  // that a phase waits for the last listed phase of the chunk before.
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

/// Return the phase of round k.
inline const Phase& phase_of(const Outline& o, uint32_t k) {
  return *std::prev(std::upper_bound(o.phases.begin(), o.phases.end(), k,
                                     [](uint32_t round, const Phase& p) { return round < p.first; }));
}

/// Return the traffic of switches that reduce for these members; nullopt if no tree of such switches joins all members.
std::optional<SwitchTraffic> switch_traffic(CommType type, const Place& place);

/// Return whether members fill a grid, and switches reduce in one or more of its dimensions.
bool reduces_in_grid(const Place& place);

/// Return why the program cannot do this operation with that many members; empty if it can. Requires equal types.
std::string misfit(const Program& program, const Operation& op, uint32_t members);
/// Return the program's plan for the operation's bytes.
Plan scaled(const Program& program, const Operation& op);

/// Return the members by node, then by place in the node: two or more nodes of two or more members; else empty.
std::vector<std::vector<uint32_t>> nodes_of(const Place& place);

}  // namespace chakra::coll
