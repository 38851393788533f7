#include "chakra/base/bytes.h"

namespace chakra {

uint64_t ByteReader::long_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return ok ? value : 0;
  }
  ok = false;
  return 0;
}

uint64_t ByteReader::fixed(int size) {
  const std::string_view text = bytes(static_cast<uint64_t>(size));
  uint64_t value = 0;
  for (size_t i = 0; i < text.size(); ++i) value |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  return value;
}

std::string_view ByteReader::bytes(uint64_t size) {
  if (!ok || size > left()) {
    ok = false;
    return {};
  }
  at += size;
  return {at - size, static_cast<size_t>(size)};
}

void put_long_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_fixed(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace chakra
