// Writing protobuf's wire format into a growing buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace chakra::schema::wire {

inline constexpr uint32_t kVarint = 0, kFixed64 = 1, kText = 2, kFixed32 = 5;  // wire types

/// Return the size of a varint, by a loop: most values have one byte.
inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

/// Bytes that grow: space is reserved once per value, then written through a pointer.
class Bytes {
 public:
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_.get(), size_}; }

  /// Return space for at least `most` bytes; call end() with the end of the written bytes.
  [[gnu::always_inline]] char* room(size_t most) {
    if (capacity_ - size_ < most) [[unlikely]]
      grow(most);
    return data_.get() + size_;
  }
  char* at(size_t index) { return data_.get() + index; }
  void end(const char* at) { size_ = static_cast<size_t>(at - data_.get()); }

 private:
  [[gnu::noinline]] void grow(size_t most) {
    capacity_ = std::max<size_t>(capacity_ * 2, size_ + most + 256);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
  }

  std::unique_ptr<char[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

/// Of a tag, a size or a number: all that a value needs besides its text.
inline constexpr size_t kMostVarint = 10;

// Each function writes at `at`, where there is room, and returns the position behind the written bytes.
inline char* varint_at(char* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}
inline char* tag_at(char* at, uint32_t field, uint32_t wire) { return varint_at(at, field << 3 | wire); }
inline char* bytes_at(char* at, std::string_view text) {
  // The many short ones in two moves that may overlap: a call of memcpy costs more than it copies.
  const auto ends = [&]<class Word>(Word) {
    std::memcpy(at, text.data(), sizeof(Word));
    std::memcpy(at + text.size() - sizeof(Word), text.data() + text.size() - sizeof(Word), sizeof(Word));
  };
  struct Words {
    uint64_t low, high;
  };
  if (text.size() > 32) std::memcpy(at, text.data(), text.size());
  else if (text.size() >= 16) ends(Words{});
  else if (text.size() >= 8) ends(uint64_t{});
  else if (text.size() >= 4) ends(uint32_t{});
  else
    for (size_t i = 0; i < text.size(); ++i) at[i] = text[i];
  return at + text.size();
}
inline char* text_at(char* at, uint32_t field, std::string_view text) {
  return bytes_at(varint_at(tag_at(at, field, kText), text.size()), text);
}
inline size_t text_room(std::string_view text) { return 2 * kMostVarint + text.size(); }

inline void put_text(Bytes& out, uint32_t field, std::string_view text) {
  out.end(text_at(out.room(text_room(text)), field, text));
}
/// Write a singular field as in proto3: the default is omitted.
inline void put_text_unless_empty(Bytes& out, uint32_t field, std::string_view text) {
  if (!text.empty()) put_text(out, field, text);
}
inline void put_number_unless_zero(Bytes& out, uint32_t field, uint64_t value) {
  if (value != 0) out.end(varint_at(tag_at(out.room(2 * kMostVarint), field, kVarint), value));
}

inline size_t tag_size(uint32_t field) { return varint_size(field << 3); }
inline size_t text_size(uint32_t field, std::string_view text) {
  return tag_size(field) + varint_size(text.size()) + text.size();
}

/// Write the output of `fill`, preceded by its size, which is unknown before. `guess`: the expected bytes of the size.
template <class Fill>
void put_sized(Bytes& out, size_t guess, const Fill& fill) {
  const size_t begin = out.size();
  out.end(out.room(guess) + guess);
  fill();
  const size_t size = out.size() - begin - guess, prefix = varint_size(size);
  if (prefix != guess) {
    (void)out.room(kMostVarint);
    std::memmove(out.at(begin + prefix), out.at(begin + guess), size);
    out.end(out.at(begin + prefix + size));
  }
  (void)varint_at(out.at(begin), size);
}

}  // namespace chakra::schema::wire
