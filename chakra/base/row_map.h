// Numbers that files give to things (ids, correlations), and the rows that these have here. Nearly all files
// number without large holes: then a table holds the rows, else a hash map does. It brings abseil with it, so it is not
// part of base.h: who needs it includes it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace chakra {

class RowMap {
 public:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  RowMap() = default;
  /// For the numbers number_of(thing), a std::optional each, none of which has a row yet. Cost: O(things), at most 32
  /// bytes for each.
  template <class Things, class NumberOf>
  RowMap(const Things& things, const NumberOf& number_of) {
    uint64_t lowest = UINT64_MAX, highest = 0;
    size_t count = 0;
    for (const auto& thing : things)
      if (const std::optional<uint64_t> number = number_of(thing)) {
        lowest = std::min(lowest, *number);
        highest = std::max(highest, *number);
        ++count;
      }
    lowest_ = lowest;
    if (count > 0 && highest - lowest < count * 8) table_.assign(highest - lowest + 1, kNoRow);
    else map_.reserve(count);
  }

  /// The row of one of the numbers, to be read or set; kNoRow at first.
  uint32_t& operator[](uint64_t number) {
    return table_.empty() ? map_.try_emplace(number, kNoRow).first->second : table_[number - lowest_];
  }
  /// The row of any number; kNoRow where it has none.
  uint32_t find(uint64_t number) const {
    if (!table_.empty()) return number - lowest_ < table_.size() ? table_[number - lowest_] : kNoRow;
    const auto found = map_.find(number);
    return found == map_.end() ? kNoRow : found->second;
  }

 private:
  uint64_t lowest_ = 0;
  std::vector<uint32_t> table_;
  absl::flat_hash_map<uint64_t, uint32_t> map_;
};

}  // namespace chakra
