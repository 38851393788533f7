// Rings whose messages cannot meet anything are worked out at once, without an event for each message.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/pool.h"

namespace chakra::astra {

struct Run;

/// A ring of one chunk in one dimension, from its first rank's beginning to its last one's.
struct RingKey {
  int64_t stream;
  const std::vector<uint32_t>* ranks;
  uint32_t base, stride;
  size_t phase;
  bool operator==(const RingKey&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const RingKey& k) {
    return H::combine(std::move(h), k.stream, k.ranks, k.base, k.stride, k.phase);
  }
};
struct RingRun {
  uint32_t begun = 0;
  std::vector<uint32_t> streams;  ///< by place in the line
  std::vector<Picoseconds> at;    ///< when they began
};

struct Rings {
  absl::flat_hash_map<RingKey, uint64_t> runs;  ///< into pool
  Pool<RingRun> pool;
  std::vector<Picoseconds> travels, next;  ///< scratch of one calculation
  size_t begun = 0;                        ///< with congestion: of all ranks together, at began_at
  Picoseconds began_at = -1;
};

/// Without congestion: a ring ends on no rank before all have begun. The last one to begin says when all end.
void join_ring(Run& run, uint32_t stream);

/// With congestion: a stream begins a ring; whether as many have begun at this time as there are ranks.
void count_ring(Run& run);
bool all_begin_rings(const Run& run);
/// If every rank is at the beginning of a ring, no two messages share a link and nothing else happens before the rings
/// end, all ranks stay alike and no message need be followed. What remains of the messages is the order of the ranks
/// at the end: a rank that received first goes first, so with each step every turn passes on to the next place
/// (docs/reference/compat.md, 1). Cost: O(ranks + steps).
void look_ahead(Run& run);

}  // namespace chakra::astra
