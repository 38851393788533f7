// The algorithms: for each its outline and its rounds, and the table of them.
#include <algorithm>
#include <bit>

#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

using trace::CommType;
using Moves = std::vector<Move>;

/// Pipelines pass the data on in pieces of this size, so that all links work at once.
constexpr uint64_t kPieceBytes = uint64_t{128} << 10;
constexpr uint64_t kMostPieces = 64;
constexpr uint64_t kMostPieceTransfers = uint64_t{1} << 21;  // members x pieces
/// A hierarchy sends so much of the buffer at a time, while the chunk before it is in the next dimension.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kMostChunks = 8;

constexpr uint32_t bit(CommType type) { return 1u << static_cast<unsigned>(type); }

uint64_t times(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? UINT64_MAX : product;
}
uint64_t plus(uint64_t left, uint64_t right) {
  uint64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

/// k places on from member i of n, k may be negative.
uint32_t turn(uint32_t i, int64_t k, uint32_t n) {
  const int64_t m = (static_cast<int64_t>(i) + k) % static_cast<int64_t>(n);
  return static_cast<uint32_t>(m < 0 ? m + n : m);
}

/// Powers of two below n: rounds in which the known part doubles.
uint32_t doublings(uint32_t n) { return static_cast<uint32_t>(std::bit_width(n - 1)); }

bool gathers(CommType type) { return type == CommType::all_gather || type == CommType::gather; }
bool scatters_sum(CommType type) { return type == CommType::reduce_scatter || type == CommType::reduce_scatter_block; }

/// `parts`: how many units `bytes` is cut into.
Outline outline_of(const Operation& op, const Place& place, uint64_t parts) {
  Outline o;
  o.type = op.type;
  o.members = place.members();
  o.root = op.root;
  o.splits = op.splits;
  o.units = op.type == CommType::barrier                          ? o.members
            : gathers(op.type) || op.type == CommType::all_to_all ? o.members * parts
                                                                  : parts;
  o.unit_bytes = op.type == CommType::barrier ? 0 : op.bytes / parts + (op.bytes % parts != 0);
  return o;
}

/// Units base + (first, first + 1, ... mod n).
void move_wrapped(Moves& moves, uint32_t from, uint32_t to, uint64_t base, uint32_t first, uint32_t count, uint32_t n,
                  bool reduce = false) {
  const uint32_t straight = std::min(count, n - first);
  if (straight > 0) moves.push_back({from, to, base + first, straight, 1, reduce});
  if (count > straight) moves.push_back({from, to, base, count - straight, 1, reduce});
}

// ---- ring ------------------------------------------------------------------------------------------------

Outline ring(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : n);
  o.rounds = op.type == CommType::all_reduce ? 2 * (n - 1) : n - 1;
  return o;
}
/// In round k member i passes on block i - k - 1, so that block i ends complete at member i; then block i - k.
/// All-to-all: all blocks go round the same way; each round drops those that have arrived.
void ring_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  const bool second = o.type == CommType::all_reduce && k >= n - 1;
  const int64_t r = second ? k - (n - 1) : k;
  for (uint32_t i = 0; i < senders; ++i) {
    const uint32_t to = turn(i, 1, n);
    if (o.type == CommType::all_to_all) {
      const uint32_t origin = turn(i, -r, n);
      move_wrapped(moves, i, to, uint64_t{origin} * n, turn(origin, r + 1, n), n - 1 - k, n);
    } else if (second || gathers(o.type)) {
      moves.push_back({i, to, turn(i, -r, n), 1, 1, false});
    } else {
      moves.push_back({i, to, turn(i, -r - 1, n), 1, 1, true});
    }
  }
}

/// Half of each block goes round as above, the other half the other way round.
Outline both_ways(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, gathers(op.type) ? 2 : 2 * uint64_t{n});
  o.rounds = op.type == CommType::all_reduce ? 2 * (n - 1) : n - 1;
  return o;
}
void both_ways_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  const bool second = o.type == CommType::all_reduce && k >= n - 1;
  const bool reduce = !second && !gathers(o.type);
  const int64_t r = second ? k - (n - 1) : k;
  const int64_t behind = reduce ? r + 1 : r;
  for (uint32_t i = 0; i < senders; ++i) {
    moves.push_back({i, turn(i, 1, n), 2 * uint64_t{turn(i, -behind, n)}, 1, 1, reduce});
    moves.push_back({i, turn(i, -1, n), 2 * uint64_t{turn(i, behind, n)} + 1, 1, 1, reduce});
  }
}

// ---- each with each ----------------------------------------------------------------------------------------

Outline direct(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : n);
  o.rounds = n < 2 ? 0 : op.type == CommType::all_reduce ? 2 : 1;
  return o;
}
void direct_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i)
    for (uint32_t q = 1; q < n; ++q) {
      const uint32_t to = turn(i, q, n);
      if (o.type == CommType::all_to_all) moves.push_back({i, to, uint64_t{i} * n + to, 1, 1, false});
      else if (k > 0 || gathers(o.type)) moves.push_back({i, to, i, 1, 1, false});
      else moves.push_back({i, to, to, 1, 1, true});
    }
}

Outline pairwise(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, place.members());
  o.rounds = o.members - 1;
  return o;
}
void pairwise_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i) {
    const uint32_t to = turn(i, int64_t{k} + 1, n);
    moves.push_back({i, to, uint64_t{i} * n + to, 1, 1, false});
  }
}

// ---- 1, 2, 4, ... places on ------------------------------------------------------------------------------------

Outline bruck(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : place.members());
  o.rounds = doublings(o.members);
  return o;
}
/// All-to-all: what is j places from its destination goes 2^k places on in round k where bit k of j is set.
/// All-gather: member i has blocks i .. i + 2^k - 1 and passes them back 2^k places.
void bruck_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members, distance = 1u << k;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i) {
    if (gathers(o.type)) {
      move_wrapped(moves, i, turn(i, -int64_t{distance}, n), 0, i, std::min(distance, n - distance), n);
      continue;
    }
    const uint32_t to = turn(i, distance, n);
    for (uint32_t j = distance; j < n; j = (j + 1) | distance) {
      const uint32_t origin = turn(i, -int64_t{j & (distance - 1)}, n);
      moves.push_back({i, to, uint64_t{origin} * n + turn(origin, j, n), 1, 1, false});
    }
  }
}

Outline dissemination(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, 1);
  o.rounds = doublings(o.members);
  return o;
}
/// In round k a member knows of itself and the 2^k - 1 before it.
void dissemination_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const uint32_t n = o.members, distance = 1u << k;
  head.extent = n;
  for (uint32_t i = 0; i < senders; ++i)
    move_wrapped(moves, i, turn(i, distance, n), 0, turn(i, 1 - int64_t{distance}, n), distance, n);
}

// ---- halving and doubling --------------------------------------------------------------------------------------

/// The largest power of two p <= n takes part. The first 2 (n - p) members are pairs: the odd one gives what it
/// has to the even one before, and gets the result from it after (Rabenseifner 2004). Of those that take part
/// number w stands for members 2w and 2w + 1 where w < n - p, otherwise for w + n - p.
struct Folding {
  uint32_t n, power, extra;
  explicit Folding(uint32_t members) : n(members), power(std::bit_floor(members)), extra(members - power) {}
  uint32_t member(uint32_t w) const { return w < extra ? 2 * w : w + extra; }
};

Outline halving_doubling(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const Folding fold(n);
  Outline o = outline_of(op, place, op.type == CommType::all_reduce ? fold.power : gathers(op.type) ? 1 : n);
  const uint32_t halvings = doublings(fold.power);
  o.rounds = (op.type == CommType::all_reduce ? 2 : 1) * halvings + (fold.extra ? 2 : 0);
  return o;
}
/// Halving: in round k number w keeps the blocks of those whose lowest k + 1 bits are its own and gives its
/// partner w xor 2^k those of the partner. Doubling is that backwards.
void halving_doubling_round(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves) {
  const Folding fold(o.members);
  const bool owners = o.type != CommType::all_reduce;  // block i is member i's
  if (fold.extra > 0) {
    const bool sums = !gathers(o.type);
    if (k == 0) {
      for (uint32_t w = 0; w < fold.extra; ++w)
        if (gathers(o.type)) moves.push_back({2 * w + 1, 2 * w, 2 * w + 1, 1, 1, false});
        else moves.push_back({2 * w + 1, 2 * w, 0, o.units, 1, sums});
      return;
    }
    if (k + 1 == o.rounds) {
      for (uint32_t w = 0; w < fold.extra; ++w) {
        const uint32_t even = 2 * w, odd = 2 * w + 1;
        if (scatters_sum(o.type)) {
          moves.push_back({even, odd, odd, 1, 1, false});
        } else if (gathers(o.type)) {
          moves.push_back({even, odd, 0, odd, 1, false});
          if (odd + 1 < fold.n) moves.push_back({even, odd, odd + 1, fold.n - odd - 1, 1, false});
        } else {
          moves.push_back({even, odd, 0, o.units, 1, false});
        }
      }
      return;
    }
    --k;
  }
  const uint32_t halvings = doublings(fold.power);
  const bool doubling = gathers(o.type) || k >= halvings;
  const uint32_t level = gathers(o.type) ? halvings - 1 - k : k < halvings ? k : 2 * halvings - 1 - k;
  const uint32_t distance = 1u << level, modulus = 2 * distance;
  if (fold.extra == 0) {
    head.stride = distance;
    head.extent = 2;
  }
  const uint32_t numbers = fold.extra == 0 ? senders : fold.power;
  for (uint32_t w = 0; w < numbers; ++w) {
    const uint32_t from = fold.member(w), to = fold.member(w ^ distance);
    const uint32_t first = (doubling ? w : w ^ distance) & (modulus - 1);
    if (!owners || fold.extra == 0) {
      moves.push_back({from, to, first, fold.power / modulus, modulus, !doubling});
      continue;
    }
    const uint32_t pairs = first < fold.extra ? (fold.extra - first - 1) / modulus + 1 : 0;
    const uint32_t singles = fold.power / modulus - pairs;
    if (pairs > 0)
      for (const uint32_t half : {0u, 1u})
        moves.push_back({from, to, 2 * uint64_t{first} + half, pairs, 2 * uint64_t{modulus}, !doubling});
    if (singles > 0)
      moves.push_back(
          {from, to, uint64_t{first} + uint64_t{pairs} * modulus + fold.extra, singles, modulus, !doubling});
  }
}

// ---- trees -------------------------------------------------------------------------------------------------

/// Binomial: counted from the root, v and v + 2^k are parent and child where 2^(k+1) divides v; the child's
/// subtree is v + 2^k .. v + 2^(k+1) - 1.
Outline tree(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  Outline o = outline_of(op, place, op.type == CommType::scatter ? n : 1);
  o.rounds = doublings(n) * (op.type == CommType::all_reduce || op.type == CommType::barrier ? 2 : 1);
  return o;
}
void tree_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const uint32_t n = o.members, levels = doublings(n);
  const bool subtree = o.type == CommType::gather || o.type == CommType::scatter;
  const bool up = o.type == CommType::reduce || o.type == CommType::gather || (o.rounds > levels && k < levels);
  const uint32_t level = up ? k : levels - 1 - (k >= levels ? k - levels : k);
  const uint32_t root = o.type == CommType::all_reduce || o.type == CommType::barrier ? 0 : o.root;
  const uint64_t distance = uint64_t{1} << level;
  for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
    const auto parent = turn(root, static_cast<int64_t>(v), n);
    const auto child = turn(root, static_cast<int64_t>(v + distance), n);
    const uint32_t from = up ? child : parent, to = up ? parent : child;
    if (subtree || (up && o.type == CommType::barrier))
      move_wrapped(moves, from, to, 0, child, static_cast<uint32_t>(std::min(distance, n - v - distance)), n);
    else moves.push_back({from, to, 0, o.units, 1, up});
  }
}

uint32_t pieces_of(uint64_t bytes, uint32_t n) {
  const uint64_t most = std::clamp<uint64_t>(kMostPieceTransfers / n, 1, kMostPieces);
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes / kPieceBytes, 1, most));
}

/// The binary tree over 0 .. n-1 that is in order: the height of v > 0 is the number of zeros at its end, 0 is the
/// root and has one child. An ancestor that is not below n is passed over.
uint32_t parent_in_order(uint32_t v, uint32_t n) {
  uint64_t at = v;
  do {
    const uint64_t low = at & (~at + 1);
    if (at == low && 2 * low >= n) return 0;
    at = at & (2 * low) ? at - low : at + low;
  } while (at >= n);
  return static_cast<uint32_t>(at);
}

/// Sets `start` of each edge, parents first, to the first step of its colour after the parent has the piece.
/// `colour` says in which of two alternating steps a child receives.
template <class Colour>
uint32_t start_edges(uint32_t n, uint32_t first, std::vector<TreeEdge>& edges, const Colour& colour) {
  uint32_t last = 0;
  for (uint32_t level = doublings(n); level-- > 0;)
    for (uint64_t v = uint64_t{1} << level; v < n; v += uint64_t{2} << level) {
      const auto place = static_cast<uint32_t>(v);
      const uint32_t parent = parent_in_order(place, n);
      const uint32_t free = parent == 0 ? 0 : edges[first + parent - 1].start + 1;
      TreeEdge& edge = edges[first + place - 1];
      edge.start = free + (free % 2 != colour(place, free) ? 1 : 0);
      last = std::max(last, edge.start);
    }
  return last;
}

/// One tree, the whole buffer in pieces; a parent serves its two children in turns.
Outline binary_tree(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint32_t pieces = pieces_of(op.bytes, n);
  Outline o = outline_of(op, place, pieces);
  o.pieces = pieces;
  if (n < 2) return o;
  o.edges.resize(n - 1);
  for (uint32_t v = 1; v < n; ++v)
    o.edges[v - 1] = {turn(op.root, parent_in_order(v, n), n), turn(op.root, v, n), 0, 0};
  const uint32_t last = start_edges(n, 0, o.edges, [&](uint32_t v, uint32_t free) {
    const uint32_t parent = parent_in_order(v, n);
    return v < parent || parent == 0 ? free % 2 : (free + 1) % 2;  // the left child first
  });
  o.steps = last + 2 * (pieces - 1) + 1;
  o.rounds = o.steps;
  return o;
}

/// Two trees, each with half of the buffer, such that who is inside one is a leaf of the other; the edges have two
/// colours such that nobody receives twice or sends twice in a step (Sanders, Speck, Traeff 2009).
Outline double_binary_tree(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint32_t pieces = pieces_of(op.bytes / 2, n);
  Outline o = outline_of(op, place, 2 * uint64_t{pieces});
  o.pieces = pieces;
  if (n < 2) return o;
  const auto member = [n](uint32_t tree, uint32_t v) { return tree == 0 ? v : n % 2 ? (v + 1) % n : n - 1 - v; };
  const auto place_of = [n](uint32_t tree, uint32_t i) { return tree == 0 ? i : n % 2 ? (i + n - 1) % n : n - 1 - i; };
  o.edges.resize(2 * (size_t{n} - 1));
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> sibling(o.edges.size(), kNone), child(n, kNone);
  for (uint32_t t = 0; t < 2; ++t)
    for (uint32_t v = 1; v < n; ++v) {
      const uint32_t parent = parent_in_order(v, n), edge = t * (n - 1) + v - 1;
      o.edges[edge] = {member(t, parent), member(t, v), t, 0};
      uint32_t& other = child[o.edges[edge].parent];  // no member has more than two, in both trees together
      if (other != kNone) {
        sibling[edge] = other;
        sibling[other] = edge;
      }
      other = edge;
    }
  // Each edge must differ from its sibling and from the edge that its child has in the other tree: chains and
  // even cycles, coloured by walking them.
  const auto twin = [&](uint32_t edge) {
    const uint32_t t = 1 - o.edges[edge].tree, v = place_of(t, o.edges[edge].child);
    return v == 0 ? kNone : t * (n - 1) + v - 1;
  };
  std::vector<uint8_t> colour(o.edges.size(), 2);
  for (uint32_t begin = 0; begin < o.edges.size(); ++begin) {
    if (colour[begin] != 2) continue;
    colour[begin] = 0;
    for (const bool by_sibling : {true, false}) {
      bool next_is_sibling = by_sibling;
      for (uint32_t at = begin;;) {
        const uint32_t next = next_is_sibling ? sibling[at] : twin(at);
        if (next == kNone || colour[next] != 2) break;
        colour[next] = static_cast<uint8_t>(1 - colour[at]);
        at = next;
        next_is_sibling = !next_is_sibling;
      }
    }
  }
  uint32_t last = 0;
  for (uint32_t t = 0; t < 2; ++t) {
    const uint32_t first = t * (n - 1);
    last = std::max(
        last, start_edges(n, first, o.edges, [&](uint32_t v, uint32_t) { return uint32_t{colour[first + v - 1]}; }));
  }
  o.steps = last + 2 * (pieces - 1) + 1;
  o.rounds = 2 * o.steps;
  return o;
}

/// Piece j comes down an edge in step start + 2 j; upwards it is that backwards.
void pipelined_tree_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const bool up = o.type == CommType::reduce || (o.type == CommType::all_reduce && k < o.steps);
  const uint32_t step = up ? o.steps - 1 - k : k >= o.steps ? k - o.steps : k;
  for (const TreeEdge& e : o.edges) {
    if (step < e.start || (step - e.start) % 2 || (step - e.start) / 2 >= o.pieces) continue;
    const uint64_t piece = uint64_t{e.tree} * o.pieces + (step - e.start) / 2;
    if (up) moves.push_back({e.child, e.parent, piece, 1, 1, true});
    else moves.push_back({e.parent, e.child, piece, 1, 1, false});
  }
}

// ---- one after the other ---------------------------------------------------------------------------------------

Outline chain(const Operation& op, const Place& place) {
  const uint32_t n = place.members();
  const uint32_t pieces = pieces_of(op.bytes, n);
  Outline o = outline_of(op, place, pieces);
  o.pieces = pieces;
  o.rounds = n < 2 ? 0 : n - 1 + pieces - 1;
  return o;
}
/// Place p of the chain passes piece k - p on in round k. Reducing, the chain ends at the root.
void chain_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const uint32_t n = o.members;
  const uint32_t last = std::min(k, n - 2);
  for (uint32_t p = k < o.pieces ? 0 : k - o.pieces + 1; p <= last; ++p) {
    if (o.type == CommType::reduce)
      moves.push_back({turn(o.root, int64_t{p} + 1, n), turn(o.root, int64_t{p} + 2, n), k - p, 1, 1, true});
    else moves.push_back({turn(o.root, p, n), turn(o.root, int64_t{p} + 1, n), k - p, 1, 1, false});
  }
}

Outline linear(const Operation& op, const Place& place) {
  Outline o = outline_of(op, place, gathers(op.type) ? 1 : place.members());
  o.rounds = o.members - 1;
  return o;
}
void linear_round(const Outline& o, uint32_t k, uint32_t, Round&, Moves& moves) {
  const uint32_t other = turn(o.root, int64_t{k} + 1, o.members);
  if (gathers(o.type)) moves.push_back({other, o.root, other, 1, 1, false});
  else moves.push_back({o.root, other, other, 1, 1, false});
}

// ---- dimension by dimension ----------------------------------------------------------------------------------------

/// The grid that ascending ranks fill: each combination of the coordinates that occur, once. Dimensions in which
/// they do not differ are left out; empty where the ranks are no grid.
std::vector<GridDimension> grid_of(const Place& place) {
  std::vector<GridDimension> grid;
  const size_t n = place.ranks.size();
  if (!place.fabric || place.fabric->dimensions.size() < 2) return {};
  for (size_t i = 1; i < n; ++i)
    if (place.ranks[i - 1] >= place.ranks[i]) return {};
  uint64_t product = 1;
  int64_t inner = 1;
  std::vector<bool> seen;
  for (const net::Dimension& d : place.fabric->dimensions) {
    seen.assign(static_cast<size_t>(d.ranks), false);
    uint32_t extent = 0;
    for (const int64_t rank : place.ranks) {
      const auto at = static_cast<size_t>(rank / inner % d.ranks);
      if (seen[at]) continue;
      seen[at] = true;
      ++extent;
    }
    if (extent > 1)
      grid.push_back({static_cast<uint32_t>(product), extent, d.kind == net::TopologyKind::fully_connected});
    product *= std::max(extent, 1u);
    if (product > n) return {};
    inner *= d.ranks;
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
  struct Part {
    Phase::Kind kind;
    uint32_t dimension;
  };
  std::vector<Part> way;
  const auto dimensions = static_cast<uint32_t>(o.grid.size());
  for (uint32_t d = 0; d < dimensions && op.type != CommType::all_gather; ++d)
    way.push_back({op.type == CommType::all_to_all ? Phase::Kind::exchange : Phase::Kind::reduce_scatter, d});
  if (op.type == CommType::all_reduce || op.type == CommType::all_gather)
    for (uint32_t d = dimensions; d-- > 0;) way.push_back({Phase::Kind::all_gather, d});
  // A chunk enters a part of the way when the chunk before it has left it; listed diagonal by diagonal, the
  // chunk behind first, so that what it waits for is the last that is listed of the chunk before it.
  std::vector<int32_t> last(chunks, -1);
  const auto parts = static_cast<uint32_t>(way.size());
  for (uint32_t diagonal = 0; diagonal + 1 < chunks + parts; ++diagonal)
    for (uint32_t c = std::min(diagonal, chunks - 1) + 1; c-- > 0 && diagonal - c < parts;) {
      const Part& part = way[diagonal - c];
      const GridDimension& d = o.grid[part.dimension];
      const uint32_t rounds = d.direct ? 1 : d.extent - 1;
      o.phases.push_back({part.kind, part.dimension, c, o.rounds, rounds, c > 0 ? last[c - 1] : -1});
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

/// A round from the blocks that move in it; what is sent to the same member stands together in `moves`.
void count_bytes(const Outline& o, std::span<const Move> moves, std::vector<Transfer>& list) {
  for (const Move& move : moves) {
    uint64_t bytes = 0;
    if (o.splits.empty()) bytes = times(move.count, o.unit_bytes);
    else
      for (uint64_t i = 0; i < move.count; ++i) bytes = plus(bytes, unit_bytes(o, move.block + i * move.step));
    if (!list.empty() && list.back().from == move.from && list.back().to == move.to)
      list.back().bytes = plus(list.back().bytes, bytes);
    else list.push_back({move.from, move.to, bytes});
  }
}

constexpr uint32_t kSums =
    bit(CommType::all_reduce) | bit(CommType::reduce_scatter) | bit(CommType::reduce_scatter_block);
constexpr uint32_t kRooted =
    bit(CommType::broadcast) | bit(CommType::reduce) | bit(CommType::gather) | bit(CommType::scatter);

}  // namespace

// In the cost, K = ceil(log2 n); p pieces of at least 128 KiB, at most 64.
const std::array<AlgorithmRow, kAlgorithmCount> kAlgorithms{{
    {"ring", "each member passes blocks on to the next one",
     "all-reduce 2 (n-1) (L + S/(n B)); reduce-scatter (n-1) (L + S/(n B)); all-gather (n-1) (L + S/B); "
     "all-to-all (n-1) L + (n-1) S/(2 B)",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), false, false, ring, ring_round},
    {"bidirectional_ring", "half of each block goes round the ring each way; links of their own for both ways",
     "all-reduce 2 (n-1) (L + S/(2 n B)); reduce-scatter (n-1) (L + S/(2 n B)); all-gather (n-1) (L + S/(2 B))",
     kSums | bit(CommType::all_gather), false, false, both_ways, both_ways_round},
    {"direct", "each member sends to all others at once",
     "with a link for each pair: L + S/(n B), all-gather L + S/B, all-reduce 2 (L + S/(n B)); with one link per "
     "member the term with S times n-1",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), true, false, direct, direct_round},
    {"halving_doubling",
     "half of the rest goes to partners 1, 2, 4, ... away, and comes back; members beyond a power "
     "of two give all to a neighbour first",
     "n = 2^K: all-reduce 2 K L + 2 (n-1) S/(n B); reduce-scatter K L + (n-1) S/(n B); all-gather K L + (n-1) S/B; "
     "else two rounds more",
     kSums | bit(CommType::all_gather), false, false, halving_doubling, halving_doubling_round},
    {"double_binary_tree", "two trees, each with half of the data in pieces; who is inside one is a leaf of the other",
     "about 2 (2 K + 2 p) (L + S/(2 p B)), p pieces per tree", bit(CommType::all_reduce), false, false,
     double_binary_tree, pipelined_tree_round},
    {"tree", "binomial tree: in each round twice as many have it",
     "K (L + S/B) for broadcast and reduce, twice that for all-reduce; gather K L + (n-1) S/B; scatter "
     "K L + (n-1) S/(n B); barrier 2 K L",
     kRooted | bit(CommType::all_reduce) | bit(CommType::barrier), false, false, tree, tree_round},
    {"binary_tree", "binary tree, the data in p pieces", "about 2 K L + (2 K + 2 p) S/(p B)",
     bit(CommType::broadcast) | bit(CommType::reduce), false, false, binary_tree, pipelined_tree_round},
    {"chain", "from member to member, the data in p pieces", "(n-1) L + (n-1 + p-1) S/(p B)",
     bit(CommType::broadcast) | bit(CommType::reduce), false, false, chain, chain_round},
    {"linear", "the root with one member after the other",
     "scatter L + (n-1) S/(n B); gather L + S/B, for what arrives at the root does not contend",
     bit(CommType::gather) | bit(CommType::scatter), false, false, linear, linear_round},
    {"pairwise", "in round k each member sends to the one k places on", "(n-1) (L + S/(n B))",
     bit(CommType::all_to_all), true, false, pairwise, pairwise_round},
    {"bruck", "in round k what has to go on by bit k of its distance goes 2^k places",
     "n = 2^K: all-to-all K (L + S/(2 B)); all-gather K L + (n-1) S/B",
     bit(CommType::all_to_all) | bit(CommType::all_gather), true, false, bruck, bruck_round},
    {"dissemination", "in round k each member tells the one 2^k places on", "K L", bit(CommType::barrier), false, false,
     dissemination, dissemination_round},
    {"hierarchical",
     "dimension by dimension, sums from the inside out, results back; chunks of 1 MiB and more follow each other. For "
     "members that fill a grid of two or more dimensions",
     "per chunk and dimension ring's, or direct's on FullyConnected, for the part that is left; c chunks overlap",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), false, true, hierarchical, hierarchical_round},
}};

const AlgorithmRow* find_algorithm(std::string_view name) {
  const auto row = std::find_if(kAlgorithms.begin(), kAlgorithms.end(), [&](const auto& r) { return r.name == name; });
  return row == kAlgorithms.end() ? nullptr : &*row;
}

uint64_t unit_bytes(const Outline& outline, uint64_t unit) {
  return outline.splits.empty() ? outline.unit_bytes : outline.splits[unit];
}

bool AlgorithmRow::can(const Operation& op, const Place& place) const {
  if (!does(op.type) || (!op.splits.empty() && !splits)) return false;
  return !grid || grid_of(place).size() >= 2;
}

Plan AlgorithmRow::plan(const Operation& op, const Place& place) const {
  CHAKRA_ASSERT(can(op, place));
  CHAKRA_ASSERT(!trace::has_root(op.type) || op.root < place.members());
  if (place.members() < 2) return {place.members(), 1, {}};
  const Outline o = outline(op, place);
  CHAKRA_ASSERT(o.members == place.members());
  Plan plan{o.members, o.lanes, {}};
  plan.rounds.resize(o.rounds);
  std::vector<Move> moves;
  std::vector<Transfer> of_member_0;
  for (uint32_t k = 0; k < o.rounds; ++k) {
    Round& head = plan.rounds[k];
    moves.clear();
    round(o, k, o.splits.empty() ? 1 : o.members, head, moves);
    if (head.extent == 0 || !o.splits.empty()) {
      count_bytes(o, moves, head.list);
      if (!o.splits.empty()) std::erase_if(head.list, [](const Transfer& t) { return t.bytes == 0; });
      head.stride = 1;
      head.extent = 0;
      continue;
    }
    of_member_0.clear();
    count_bytes(o, moves, of_member_0);
    head.shifts = static_cast<uint32_t>(of_member_0.size());
    head.shift = of_member_0[0].to / head.stride;
    head.apart = head.shifts < 2 ? 1 : of_member_0[1].to / head.stride - head.shift;
    head.bytes = of_member_0[0].bytes;
    if (head.extent == o.members) head.extent = 0;
  }
  assert_whole(plan);
  return plan;
}

void assert_whole(const Plan& plan) {
  for (uint32_t k = 0; k < plan.rounds.size(); ++k) {
    const Round& round = plan.rounds[k];
    CHAKRA_ASSERT(round.lane < plan.lanes);
    CHAKRA_ASSERT(round.after < static_cast<int64_t>(k));  // a round waits for an earlier one only
    CHAKRA_ASSERT_SLOW(std::all_of(round.list.begin(), round.list.end(), [&](const Transfer& t) {
      return t.from < plan.members && t.to < plan.members && t.from != t.to;
    }));
  }
}

std::vector<Move> AlgorithmRow::moves(const Operation& op, const Place& place, uint32_t k) const {
  const Outline o = outline(op, place);
  CHAKRA_ASSERT(k < o.rounds);
  std::vector<Move> moves;
  Round head;
  round(o, k, o.members, head, moves);
  return moves;
}

}  // namespace chakra::coll
