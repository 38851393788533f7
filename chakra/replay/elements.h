// The element types of communicated data: how wide they are, how two values of one are combined, and which integers
// they hold exactly, so that sums can be checked to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "chakra/replay/backend.h"

namespace chakra::replay {

struct ElementRow {
  /// As traces have them, in lower case, without "c10::", "at::" and "torch.": "float float32".
  std::string_view names;
  uint32_t bytes = 1;
  uint32_t exact = 255;  ///< all integers from 0 to this one are values of the type
  bool ordered = true;   ///< minimum, maximum and product are defined (complex numbers are only added)
  /// into[i] = into[i] (op) from[i]; `average` adds up. Integers wrap around; bool is added with "or" and multiplied
  /// with "and". Requires as many bytes in both, a multiple of `bytes`.
  void (*combine)(ReduceOp op, std::span<std::byte> into, std::span<const std::byte> from) = nullptr;
  /// Every element divided by n; integers are rounded towards 0, bool stays.
  void (*divide)(std::span<std::byte> values, uint32_t n) = nullptr;
  /// Requires a value of at most `exact`.
  void (*set)(std::byte* element, uint32_t value) = nullptr;
};

/// Names that the table lacks, and "", stand for unsigned bytes. O(rows).
const ElementRow& element_of(std::string_view dtype);
/// All rows.
std::span<const ElementRow> elements();

}  // namespace chakra::replay
