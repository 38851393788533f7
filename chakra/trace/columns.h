// Columns that take less room than an array would: ids, which nearly always count up, the lags of edges, of which few
// have one, and tensors.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "chakra/base/base.h"

namespace chakra::trace {

/// The ids of a file by row. Those that count up without holes take no memory.
class Ids {
 public:
  Ids() = default;
  /// first, first + 1, ...; requires that the last does not overflow.
  static Ids counting(uint64_t first, size_t size);

  void push_back(uint64_t id);
  void set(size_t row, uint64_t id);
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  uint64_t operator[](size_t row) const { return listed_.empty() ? first_ + row : listed_[row]; }
  /// All of them; none where each is one more than the one before.
  std::span<const uint64_t> listed() const { return listed_; }
  bool ascend() const;
  /// The first row that has the id; size() if none does. Cost: O(1) where ids count up, else O(rows).
  size_t find(uint64_t id) const;
  bool operator==(const Ids& other) const;

 private:
  uint64_t first_ = 0;
  size_t size_ = 0;
  Column<uint64_t> listed_;  ///< instead

  void list();
};

/// The lags of edges, by edge: three bits for each edge and a number for each that is not zero.
class Lags {
 public:
  Lags() = default;
  /// Of `edges` edges; `lags` names edges once, in any order.
  Lags(size_t edges, std::span<const std::pair<uint32_t, Picoseconds>> lags);

  bool empty() const { return values_.empty(); }
  Picoseconds operator[](size_t edge) const {
    if (values_.empty()) return 0;
    const uint64_t bits = marks_[edge / 64], bit = uint64_t{1} << edge % 64;
    if ((bits & bit) == 0) return 0;
    return values_[before_[edge / 64] + static_cast<uint32_t>(std::popcount(bits & (bit - 1)))];
  }
  bool operator==(const Lags&) const = default;
  const void* data() const { return values_.data(); }  ///< the same for lags that are shared

 private:
  Column<uint64_t> marks_;   ///< a bit per edge: it has one
  Column<uint32_t> before_;  ///< per word of them: how many edges before it have one
  Column<Picoseconds> values_;
};

/// The tensors of one direction, as text in the form the ecosystem uses (Python's repr of lists). What
/// kind they are repeats from node to node, which tensors they are does not.
struct Tensors {
  std::string_view values;
  StringId shapes = 0, types = 0, strides = 0;
  bool empty() const { return values.empty() && shapes == 0 && types == 0 && strides == 0; }
};
struct Io {
  Tensors inputs, outputs;
};

/// An Io in as few bytes as it needs, texts included. They lie in an arena, which must outlive it and what it gives.
class PackedIo {
 public:
  PackedIo(const Io& io, Arena& arena);
  operator Io() const;  // NOLINT: it is one

 private:
  const uint8_t* at_;
};

}  // namespace chakra::trace
