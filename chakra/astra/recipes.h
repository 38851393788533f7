// The work of a collective's chunks in each dimension (docs/reference/compat.md, 2, 4, 7).
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <vector>

#include "chakra/astra/algorithms.h"
#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

struct Run;

/// The members of a collective: all ranks, or a group of the groups file in the order given there.
struct Members {
  std::vector<uint32_t> ranks;
  bool everyone = false;
};

/// The ranks of one phase, in order: every stride-th of all ranks, or the members of a group.
struct Line {
  const std::vector<uint32_t>* ranks = nullptr;  ///< of a group; nullptr: base, base + stride, ...
  uint32_t base = 0, stride = 1, places = 0, self = 0;
  uint32_t rank(uint32_t place) const { return ranks ? (*ranks)[place] : base + place * stride; }
  bool same_ranks(const Line& other) const {
    return ranks == other.ranks && base == other.base && stride == other.stride && places == other.places;
  }
};

/// The work of a chunk in one dimension.
struct Plan {
  enum class Half : uint8_t { all, first, second };
  uint32_t dim = 0;
  Half half = Half::all;  ///< of the dimension's queues
  trace::CommType type = trace::CommType::unknown;
  Algorithm algorithm;
  Line line;
  uint64_t bytes = 0;
  bool is_ring() const { return algorithm.kind == AlgorithmKind::packets && !algorithm.direct; }
};

/// Common data of a rank's collectives with the same type, size, group and dimensions.
struct Recipe {
  // Key of the recipe.
  trace::CommType type = trace::CommType::unknown;
  uint8_t involved_count = 0;
  StringId group = 0;
  uint64_t bytes = 0, involved = 0;

  // Set when the first of these collectives begins.
  uint64_t chunks = 0;  ///< 0: not set yet
  bool everyone = false;
  bool named = false;        ///< by a group of the file, which may have all ranks
  int64_t first_stream = 0;  ///< of a named group
  absl::InlinedVector<Plan, 1> plans;

  bool same_key(const Recipe& other) const {
    return type == other.type && involved_count == other.involved_count && group == other.group &&
           bytes == other.bytes && involved == other.involved;
  }
};
Recipe recipe_key(const trace::Comm& comm);

/// Complete the recipe of node n of rank r. Errors: sim.compat.algorithm, .collective,
/// .custom, .dimensions, .group, .size, .splits. Cost: O(members + dimensions).
Result<void> find_recipe(Run& run, uint32_t r, trace::NodeId n, Recipe& recipe);

}  // namespace chakra::astra
