// Rings without contention are computed at once, without an event for each message.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/pool.h"

namespace chakra::astra {

struct Run;

/// A ring of one chunk in one dimension, from the first rank's begin to the last rank's begin.
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
  std::vector<Picoseconds> at;    ///< begin of each stream
};

struct Rings {
  absl::flat_hash_map<RingKey, uint64_t> runs;  ///< into pool
  Pool<RingRun> pool;
  std::vector<Picoseconds> travels, next;  ///< scratch memory of one calculation
  size_t begun = 0;                        ///< with congestion: over all ranks, at began_at
  Picoseconds began_at = -1;
};

/// Without congestion: a ring ends on no rank before all have begun. The last one to begin determines all ends.
void join_ring(Run& run, uint32_t stream);

/// With congestion: count a begin of a ring; return whether every rank has begun one at this time.
void count_ring(Run& run);
bool all_begin_rings(const Run& run);
/// Skip to the end of the rings. Applies if every rank is at the begin of a ring, no two messages share a
/// link, and no other event comes before the end. Then all ranks stay in equal states, and no message must
/// be simulated. Messages only affect the order of ranks at the end: a rank that received first goes first,
/// so each step passes every turn to the next place (docs/reference/compat.md, 1). Cost: O(ranks + steps).
void look_ahead(Run& run);

}  // namespace chakra::astra
