// The element types of communicated data: width, combination of two values,
// and range of exact integers, so that sums can be verified to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "chakra/replay/backend.h"

namespace chakra::replay {

struct ElementRow {
  /// As in traces, in lower case, without "c10::", "at::" and "torch.": "float float32".
  std::string_view names;
  uint32_t bytes = 1;
  uint32_t exact = 255;  ///< all integers from 0 to this value are exact in the type
  bool ordered = true;   ///< minimum, maximum and product are defined (complex numbers: only sums)
  /// into[i] = into[i] (op) from[i]; `average` computes the sum. Integers wrap around; bool uses "or"
  /// for sums and "and" for products. Requires equal numbers of bytes in both, a multiple of `bytes`.
  void (*combine)(ReduceOp op, std::span<std::byte> into, std::span<const std::byte> from) = nullptr;
  /// Divide each element by n; integers round towards 0, bool does not change.
  void (*divide)(std::span<std::byte> values, uint32_t n) = nullptr;
  /// Requires a value of at most `exact`.
  void (*set)(std::byte* element, uint32_t value) = nullptr;
};

/// Return the row of a name; names not in the table, and "", are unsigned bytes. O(rows).
const ElementRow& element_of(std::string_view dtype);
/// Return all rows.
std::span<const ElementRow> elements();

}  // namespace chakra::replay
