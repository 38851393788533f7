// The ids of a file's nodes by row. Rows ascend by id, so neighbours in the graph, whose ids are close in most files,
// are close in memory whatever the order of the file. The place of a node is its position in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::feeders {

using Row = uint32_t;

/// Memory: 8 bytes per node, plus 4 if ids do not ascend in the file.
class Ids {
 public:
  Row size() const { return static_cast<Row>(ids_.size()); }
  uint64_t operator[](Row row) const { return ids_[row]; }

  /// Add the id of the next place.
  void push_back(uint64_t id) {
    ascend_ = ascend_ && (ids_.empty() || ids_.back() < id);
    ids_.push_back(id);
  }
  /// Return whether ids ascend in the file: rows are places.
  bool ascend() const { return ascend_; }
  /// Number the rows, after the last push_back(). Errors: feed.id.duplicate.
  Result<void> sort(const std::string& file);

  /// Return the position of a row in the file.
  Row place(Row row) const { return places_.empty() ? row : places_[row]; }
  /// Return the row of an id. Requires ascending ids, or sort(). Cost: O(1) if ids are dense, else O(log nodes).
  std::optional<Row> find(uint64_t id) const {
    CHAKRA_ASSERT(ascend_ || !places_.empty());
    const uint64_t row = ids_.empty() ? 0 : id - ids_.front();  // correct for dense ids; huge if the id is less
    if (row < ids_.size() && ids_[row] == id) return static_cast<Row>(row);
    return search(id);
  }

 private:
  std::optional<Row> search(uint64_t id) const;

  std::vector<uint64_t> ids_;  ///< by place until sort(), then by row
  std::vector<Row> places_;    ///< by row; empty if rows are places
  bool ascend_ = true;
};

}  // namespace chakra::feeders
