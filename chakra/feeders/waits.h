// Who waits for whom, by row. A builder collects it while the file is read.
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
  using Absent = std::pair<uint64_t, Row>;  ///< an id that is not in the file, and who waits for it

  std::vector<uint32_t> waits_for;    ///< by row: how many different nodes it waits for
  std::vector<uint32_t> first_child;  ///< by row, into all_children, and their number
  std::vector<Row> all_children;
  std::vector<Absent> absent;  ///< ascending

  /// Who waits for it, ascending.
  std::span<const Row> children(Row row) const {
    return {all_children.data() + first_child[row], all_children.data() + first_child[row + 1]};
  }
  /// A row that waits for itself, or for others that wait for it; none if there is none. Cost: O(nodes + edges).
  std::optional<Row> cycle() const;
};

/// Memory: 8 bytes per edge more.
class WaitsBuilder {
 public:
  /// Adds the ids that the last node of `ids` waits for; duplicates are allowed.
  void add(const Ids& ids, std::vector<uint64_t>& deps);
  size_t edges() const { return parents_.size() + unresolved_.size(); }
  /// Requires sorted ids of all nodes.
  Waits finish(const Ids& ids) &&;

 private:
  std::vector<uint32_t> known_;            ///< by row: how many of parents_ are its own
  std::vector<Row> parents_;               ///< child after child
  std::vector<Waits::Absent> unresolved_;  ///< by id, because it has not been read
};

}  // namespace chakra::feeders
