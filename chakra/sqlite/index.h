// Rows of a virtual table: found by the value of a column, or sorted by columns. Inside sqlite.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chakra/sqlite/tables.h"

namespace chakra::sqlite {

struct SortBy {
  size_t column = 0;
  bool descending = false;
};

/// The rows of a table, numbered through all parts, with an index of each column that a query asked for.
class TableRows {
 public:
  explicit TableRows(const Table& table);

  size_t size() const { return begins_.back(); }
  const Table& table() const { return table_; }
  size_t begin_of(size_t part) const { return begins_[part]; }
  /// Return the part of a row. `near`: the part to try first.
  size_t part_of(size_t row, size_t near) const;
  /// Return the part with this key; nullopt: no such part.
  std::optional<size_t> find_part(int64_t key) const;
  /// Append the rows of a part in which the column has the value. Cost: O(log rows); the first time O(rows log rows).
  void find(size_t part, size_t column, int64_t bits, std::vector<uint64_t>& rows);
  /// Sort rows by columns, as SQLite sorts: missing cells first, texts by bytes; equal rows keep their order.
  /// Cost: O(rows x columns + values log values), where values are the different ones.
  void sort(std::span<const SortBy> by, std::vector<uint64_t>& rows) const;

 private:
  using Index = std::vector<std::pair<int64_t, uint32_t>>;  ///< value and row in the part, ascending
  const Table& table_;
  std::vector<size_t> begins_;                          ///< of each part, and the end
  std::map<std::pair<size_t, size_t>, Index> indices_;  ///< by part and column

  const Index& index_of(size_t part, size_t column);
};

}  // namespace chakra::sqlite
