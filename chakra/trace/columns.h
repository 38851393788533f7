// Columns smaller than an array: ids, which nearly always count up;
// lags of edges, of which few are not zero; and tensors.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "chakra/base/base.h"

namespace chakra::trace {

/// The ids of a file by row. Ids that count up without holes take no memory.
class Ids {
 public:
  Ids() = default;
  /// Return first, first + 1, ...; requires that the last does not overflow.
  static Ids counting(uint64_t first, size_t size);

  void push_back(uint64_t id);
  void set(size_t row, uint64_t id);
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  uint64_t operator[](size_t row) const { return listed_.empty() ? first_ + row : listed_[row]; }
  /// Return all ids; empty if each id is one more than the id before.
  std::span<const uint64_t> listed() const { return listed_; }
  bool ascend() const;
  /// Return the first row with the id; size() if the id is absent. Cost: O(1) if ids count up, else O(rows).
  size_t find(uint64_t id) const;
  bool operator==(const Ids& other) const;

 private:
  uint64_t first_ = 0;
  size_t size_ = 0;
  Column<uint64_t> listed_;  ///< instead of first_; empty if the ids count up

  void list();
};

/// The lags of edges, by edge: three bits for each edge and a number for each lag that is not zero.
class Lags {
 public:
  Lags() = default;
  /// Store the lags of `edges` edges; `lags` names each edge at most once, in any order.
  Lags(size_t edges, std::span<const std::pair<uint32_t, Picoseconds>> lags);

  bool empty() const { return values_.empty(); }
  Picoseconds operator[](size_t edge) const {
    if (values_.empty()) return 0;
    const uint64_t bits = marks_[edge / 64], bit = uint64_t{1} << edge % 64;
    if ((bits & bit) == 0) return 0;
    return values_[before_[edge / 64] + static_cast<uint32_t>(std::popcount(bits & (bit - 1)))];
  }
  bool operator==(const Lags&) const = default;
  const void* data() const { return values_.data(); }  ///< equal for lags that share memory

 private:
  Column<uint64_t> marks_;   ///< a bit per edge: the edge has a lag
  Column<uint32_t> before_;  ///< per word of marks_: the number of lags before the word
  Column<Picoseconds> values_;
};

/// The tensors of one direction, as text in the ecosystem's form (Python's repr of
/// lists). Shapes and types repeat from node to node, tensor values do not.
struct Tensors {
  std::string_view values;
  StringId shapes = 0, types = 0, strides = 0;
  bool empty() const { return values.empty() && shapes == 0 && types == 0 && strides == 0; }
};
struct Io {
  Tensors inputs, outputs;
};

/// An Io, texts included, packed into an arena, which must outlive this object and each Io made from this object.
class PackedIo {
 public:
  PackedIo(const Io& io, Arena& arena);
  operator Io() const;  // NOLINT: it is one

 private:
  const uint8_t* at_;
};

}  // namespace chakra::trace
