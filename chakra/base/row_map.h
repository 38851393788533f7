// Maps numbers in files (ids, correlations) to rows. Nearly all files number without large
// holes: a table then holds the rows, otherwise a hash map. This header includes abseil
// and is therefore not part of base.h: include this header where needed.
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
  /// Prepare for the numbers number_of(thing), each a std::optional. No number
  /// has a row yet. Cost: O(things), at most 32 bytes for each.
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

  /// Access the row of one of the prepared numbers, for reading or writing; kNoRow at first.
  uint32_t& operator[](uint64_t number) {
    return table_.empty() ? map_.try_emplace(number, kNoRow).first->second : table_[number - lowest_];
  }
  /// Return the row of any number; kNoRow if the number has no row.
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
