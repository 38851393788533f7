// Numbers in as few bytes as possible, seven bits in each, the lowest first: the encoding of attributes and tensors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chakra::trace {

inline constexpr size_t kMostVarint = 10;

/// Write a number. Requires kMostVarint bytes at `at`; returns the position behind the number.
inline uint8_t* put_varint(uint8_t* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
  *at++ = static_cast<uint8_t>(value);
  return at;
}

inline uint64_t take_varint(const uint8_t*& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = *at++;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace chakra::trace
