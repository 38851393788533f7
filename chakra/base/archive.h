// Values as bytes for later calls of this program, written and read by one list of their members.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chakra/base/bytes.h"

namespace chakra {

/// The members of a type, for both directions: `static void members(auto& all, auto& value) { all(value.a, value.b);
/// }`.
template <class T>
struct Described;

/// Whole numbers, enumerations and real numbers have 8 bytes, little-endian; texts, lists and maps begin with their
/// size.
class ArchiveWriter {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (add(values), ...);
  }
  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  void add_word(uint64_t word) { put_fixed(bytes_, word, 8); }
  template <class T>
  void add(const T& value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>) add_word(static_cast<uint64_t>(value));
    else if constexpr (std::same_as<T, double>) add_word(std::bit_cast<uint64_t>(value));
    else Described<T>::members(*this, value);
  }
  void add(const std::string& text) {
    add_word(text.size());
    bytes_ += text;
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T, size_t N>
  void add(const std::array<T, N>& values) {
    for (const T& value : values) add(value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add_word(values.size());
    for (const T& value : values) add(value);
  }
  template <class K, class V>
  void add(const std::map<K, V>& values) {
    add_word(values.size());
    for (const auto& [key, value] : values) (*this)(key, value);
  }

  std::string bytes_;
};

/// Reads the values in the order of writing. After an impossible size or the end of the bytes, is_whole() is false, and
/// all further values keep their defaults. Values of enumerations are not checked.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::string_view bytes) : in_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (read(values), ...);
  }
  /// Refuse the bytes, because a value is impossible.
  void refuse() { in_.ok = false; }
  /// Return whether all values were read, and no byte is left.
  bool is_whole() const { return in_.done(); }

 private:
  uint64_t word() { return in_.fixed(8); }
  /// The number of elements, each of which has at least a byte.
  size_t size() {
    const uint64_t size = word();
    if (size > in_.left()) in_.ok = false;
    return in_.ok ? size : 0;
  }
  template <class T>
  void read(T& value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>) value = static_cast<T>(word());
    else if constexpr (std::same_as<T, double>) value = std::bit_cast<double>(word());
    else Described<T>::members(*this, value);
  }
  void read(std::string& text) { text = in_.bytes(size()); }
  template <class T>
  void read(std::optional<T>& value) {
    bool has = false;
    read(has);
    value.reset();
    if (has) read(value.emplace());
  }
  template <class A, class B>
  void read(std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T, size_t N>
  void read(std::array<T, N>& values) {
    for (T& value : values) read(value);
  }
  template <class T>
  void read(std::vector<T>& values) {
    values.clear();
    for (size_t left = size(); left > 0 && in_.ok; --left) read(values.emplace_back());
  }
  template <class K, class V>
  void read(std::map<K, V>& values) {
    values.clear();
    for (size_t left = size(); left > 0 && in_.ok; --left) {
      std::pair<K, V> one;
      read(one);
      values.insert(std::move(one));
    }
  }

  ByteReader in_;
};

}  // namespace chakra
