// The ids of a file's nodes by row (the node's position in the file), and the rows by id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::feeders {

using Row = uint32_t;

/// Memory: 8 bytes per node, plus 4 if ids do not ascend.
class Ids {
 public:
  Row size() const { return static_cast<Row>(ids_.size()); }
  uint64_t operator[](Row row) const { return ids_[row]; }

  void push_back(uint64_t id) {
    ascend_ = ascend_ && (ids_.empty() || ids_.back() < id);
    if (ids_.empty() || id < lowest_) lowest_ = id;
    ids_.push_back(id);
  }
  bool ascend() const { return ascend_; }
  /// Build the index after the last push_back(). Errors: feed.id.duplicate.
  Result<void> sort(const std::string& file);

  /// Return the row of an id. Requires ascending ids, or sort(). Cost: O(1) if ids are dense, else O(log nodes).
  std::optional<Row> find(uint64_t id) const {
    CHAKRA_ASSERT(ascend_ || !by_id_.empty());
    const uint64_t place = id - lowest_;  // correct for dense ids; huge if the id is less than the lowest
    if (place < ids_.size() && ids_[row_at(place)] == id) return row_at(place);
    return search(id);
  }

 private:
  Row row_at(size_t i) const { return by_id_.empty() ? static_cast<Row>(i) : by_id_[i]; }
  std::optional<Row> search(uint64_t id) const;

  std::vector<uint64_t> ids_;
  std::vector<Row> by_id_;  ///< rows by ascending id; empty if ids ascend by row
  uint64_t lowest_ = 0;
  bool ascend_ = true;
};

}  // namespace chakra::feeders
