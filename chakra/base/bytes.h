// Numbers as bytes: varints (seven bits in each byte, the lowest first), zigzag, little endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chakra {

/// Reads numbers from bytes; after too few bytes, `ok` is false and all later numbers are 0.
struct ByteReader {
  const char* at;
  const char* end;
  bool ok = true;

  explicit ByteReader(std::string_view bytes) : at(bytes.data()), end(bytes.data() + bytes.size()) {}
  uint64_t varint() {
    if (ok && at != end && static_cast<unsigned char>(*at) < 0x80) [[likely]]
      return static_cast<unsigned char>(*at++);
    return long_varint();
  }
  uint64_t fixed(int bytes);
  std::string_view bytes(uint64_t size);
  uint64_t left() const { return static_cast<uint64_t>(end - at); }
  bool done() const { return ok && at == end; }

 private:
  uint64_t long_varint();
};
void put_long_varint(std::string& out, uint64_t value);
inline void put_varint(std::string& out, uint64_t value) {
  if (value < 0x80) out += static_cast<char>(value);
  else put_long_varint(out, value);
}
/// Append the lowest bytes of a number, at most 8, the lowest first.
void put_fixed(std::string& out, uint64_t value, int bytes);
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace chakra
