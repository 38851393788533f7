// Dimension by dimension of the fabric, for members that fill a grid.
#include "chakra/coll/algorithms.h"

namespace chakra::coll {
namespace {

/// A hierarchy sends so much of the buffer at a time, while the chunk before it is in the next dimension.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kMostChunks = 8;

}  // namespace

std::vector<GridDimension> grid_of(const Place& place) {
  std::vector<GridDimension> grid;
  const size_t n = place.ranks.size();
  if (!place.fabric || place.fabric->dimensions.size() < 2) return {};
  for (size_t i = 1; i < n; ++i)
    if (place.ranks[i - 1] >= place.ranks[i]) return {};
  uint64_t product = 1;
  uint32_t inner = 1;  // ranks are below 2^24, and numbers of 32 bits divide faster
  std::vector<uint8_t> seen;
  for (const net::Dimension& d : place.fabric->dimensions) {
    const auto ranks = static_cast<uint32_t>(d.ranks);
    seen.assign(ranks, 0);
    for (const int64_t rank : place.ranks) seen[static_cast<uint32_t>(rank) / inner % ranks] = 1;
    const auto extent = static_cast<uint32_t>(std::count(seen.begin(), seen.end(), 1));
    if (extent > 1) grid.push_back({static_cast<uint32_t>(product), extent, d.topology().form == net::RowForm::pairs});
    product *= std::max(extent, 1u);
    if (product > n) return {};
    inner *= ranks;
  }
  if (product != n) return {};
  return grid;
}

Outline hierarchical(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint64_t whole = op.type == CommType::all_gather ? times(op.bytes, n) : op.bytes;
  const auto chunks = static_cast<uint32_t>(std::clamp<uint64_t>(whole / kChunkBytes, 1, kMostChunks));
  Outline o = outline_of(op, place, op.type == CommType::all_gather ? chunks : uint64_t{n} * chunks);
  o.pieces = o.lanes = chunks;
  o.grid = grid_of(place);
  struct Leg {
    Phase::Kind kind;
    uint32_t dimension;
  };
  std::vector<Leg> way;
  const auto dimensions = static_cast<uint32_t>(o.grid.size());
  for (uint32_t d = 0; d < dimensions && op.type != CommType::all_gather; ++d)
    way.push_back({op.type == CommType::all_to_all ? Phase::Kind::exchange : Phase::Kind::reduce_scatter, d});
  if (op.type == CommType::all_reduce || op.type == CommType::all_gather)
    for (uint32_t d = dimensions; d-- > 0;) way.push_back({Phase::Kind::all_gather, d});
  // A chunk enters a leg of the way when the chunk before it has left it; listed diagonal by diagonal, the
  // chunk behind first, so that what it waits for is the last that is listed of the chunk before it.
  std::vector<int32_t> last(chunks, -1);
  const auto legs = static_cast<uint32_t>(way.size());
  for (uint32_t diagonal = 0; diagonal + 1 < chunks + legs; ++diagonal)
    for (uint32_t c = std::min(diagonal, chunks - 1) + 1; c-- > 0 && diagonal - c < legs;) {
      const Leg& leg = way[diagonal - c];
      const GridDimension& d = o.grid[leg.dimension];
      const uint32_t rounds = d.direct ? 1 : d.extent - 1;
      o.phases.push_back({leg.kind, leg.dimension, c, o.rounds, rounds, c > 0 ? last[c - 1] : -1});
      o.rounds += rounds;
      last[c] = static_cast<int32_t>(o.rounds) - 1;
    }
  return o;
}
/// Within dimension d a member has the blocks whose coordinates inside d are its own; those further out vary.
void hierarchical_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const auto phase = std::prev(std::upper_bound(o.phases.begin(), o.phases.end(), k,
                                                [](uint32_t round, const Phase& p) { return round < p.first; }));
  const GridDimension& d = o.grid[phase->dimension];
  const uint32_t n = o.members, outer = d.stride * d.extent;
  const uint64_t chunks = o.pieces;
  const int64_t r = k - phase->first;
  head.stride = d.stride;
  head.extent = d.extent;
  head.lane = phase->chunk;
  head.after = r == 0 ? phase->after : -1;
  for (uint32_t i = 0; i < senders; ++i) {
    const uint32_t inner = i % d.stride, c = i / d.stride % d.extent, further = i / outer * outer;
    const auto member = [&](uint32_t coordinate) { return further + coordinate * d.stride + inner; };
    // The blocks of all members whose coordinates up to d are `inner` and `coordinate`.
    const auto send = [&](uint32_t to, uint32_t coordinate, bool reduce) {
      moves.push_back({i, member(to), (inner + uint64_t{coordinate} * d.stride) * chunks + phase->chunk, n / outer,
                       outer * chunks, reduce});
    };
    // What comes from the members that differ from i inside d, and goes to `to` and those further out of it.
    const auto exchange = [&](uint32_t to) {
      for (uint32_t x = 0; x < d.stride; ++x)
        moves.push_back({i, member(to),
                         (uint64_t{i - inner + x} * n + inner + uint64_t{to} * d.stride) * chunks + phase->chunk,
                         n / outer, outer * chunks, false});
    };
    const bool sums = phase->kind == Phase::Kind::reduce_scatter;
    if (phase->kind == Phase::Kind::exchange && !d.direct) {
      exchange(turn(c, r + 1, d.extent));
    } else if (!d.direct) {
      // Sums go round one way, results the other way.
      send(turn(c, sums ? 1 : -1, d.extent), turn(c, sums ? -r - 1 : r, d.extent), sums);
    } else {
      for (uint32_t q = 1; q < d.extent; ++q) {
        const uint32_t to = turn(c, q, d.extent);
        if (phase->kind == Phase::Kind::exchange) exchange(to);
        else send(to, sums ? to : c, sums);
      }
    }
  }
}

}  // namespace chakra::coll
