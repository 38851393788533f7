// Rows with numbers that are used again when they are given back.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace chakra::net {

template <class Row>
class Pool {
 public:
  Row& operator[](uint32_t number) { return rows_[number]; }
  const Row& operator[](uint32_t number) const { return rows_[number]; }

  /// A new row, or one that was given back, as it was.
  uint32_t take() {
    if (unused_.empty()) {
      rows_.emplace_back();
      return static_cast<uint32_t>(rows_.size() - 1);
    }
    const uint32_t number = unused_.back();
    unused_.pop_back();
    return number;
  }
  uint32_t take(Row row) {
    const uint32_t number = take();
    rows_[number] = std::move(row);
    return number;
  }
  void give_back(uint32_t number) { unused_.push_back(number); }

 private:
  std::vector<Row> rows_;
  std::vector<uint32_t> unused_;
};

}  // namespace chakra::net
