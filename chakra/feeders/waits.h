// Dependencies between nodes, by row. A builder collects the dependencies by place, while the file is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chakra/feeders/ids.h"

namespace chakra::feeders {

/// Memory: 8 bytes per node, 4 per edge.
struct Waits {
  using Absent = std::pair<uint64_t, Row>;  ///< an id that is not in the file, and a node that waits for it

  std::vector<uint32_t> waits_for;    ///< by row: number of distinct dependencies
  std::vector<uint32_t> first_child;  ///< by row, into all_children; the last entry is their number
  std::vector<Row> all_children;
  std::vector<Absent> absent;  ///< ascending

  /// Return the nodes that wait for this one, ascending.
  std::span<const Row> children(Row row) const {
    return {all_children.data() + first_child[row], all_children.data() + first_child[row + 1]};
  }
  /// Return a row on a dependency cycle, or no value. Cost: O(nodes + edges).
  std::optional<Row> cycle() const;
};

/// Additional memory: 8 bytes per edge and 4 per node, and 4 more per node in finish() if ids do not ascend in the
/// file.
class WaitsBuilder {
 public:
  /// Add the dependencies of the node at the next place; duplicates are allowed.
  void add(std::vector<uint64_t>& deps);
  size_t edges() const { return deps_.size(); }
  /// Requires sorted ids of all nodes. Cost: O(nodes + edges) if ids are dense, else O(log nodes) per edge.
  Waits finish(const Ids& ids) &&;

 private:
  std::vector<uint32_t> counts_;  ///< of distinct dependencies, by place
  std::vector<uint64_t> deps_;    ///< ids, place by place
};

}  // namespace chakra::feeders
