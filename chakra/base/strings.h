// Text kept for as long as its owner lives. Arena: bytes appended and never moved. StringPool: equal
// strings stored once and named by a dense 32-bit id, so that columns hold ids and comparisons are
// of integers.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace chakra {

/// Append-only bytes; views stay valid until the arena is destroyed, also when it is moved.
class Arena {
 public:
  /// Copies text in. Cost: O(text).
  std::string_view add(std::string_view text);

  /// Room for `size` bytes to be written by the caller; give back what was not used with shrink().
  char* reserve(size_t size);
  void shrink(size_t unused) { used_ -= unused; }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = 0;
  size_t capacity_ = 0;
};

/// std::hash goes through text byte by byte.
struct TextHash {
  size_t operator()(std::string_view text) const {
    return absl::Hash<absl::string_view>()(absl::string_view(text.data(), text.size()));
  }
};
template <class Value>
using TextMap = absl::flat_hash_map<std::string_view, Value, TextHash>;

using StringId = uint32_t;

/// Interned strings. Id 0 is always "". Lookups and insertions are O(length), amortised.
class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  StringId intern(std::string_view text);
  /// The id of a string that may not be there: 0 (the empty string) then.
  StringId find(std::string_view text) const;
  std::string_view operator[](StringId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  Arena arena_;
  std::vector<std::string_view> texts_;
  TextMap<StringId> ids_;
};

/// text == literal, but compared in a few instructions where a parser does so for every field.
template <size_t N>
bool is(std::string_view text, const char (&literal)[N]) {
  return text.size() == N - 1 && __builtin_memcmp(text.data(), literal, N - 1) == 0;
}
/// ASCII only: bytes above 127 stay as they are.
std::string to_lower(std::string_view text);
bool contains(std::string_view text, std::string_view part);
bool contains_ignoring_case(std::string_view text, std::string_view part);

/// The whole of `text` as a decimal integer ("0x" for hexadecimal); false if it is not one or
/// does not fit.
bool parse_integer(std::string_view text, int64_t& value);
bool parse_unsigned(std::string_view text, uint64_t& value);

/// Length of the UTF-8 sequence that begins at text[at], or 0 if it is not well formed.
size_t utf8_length(std::string_view text, size_t at);

/// `text` between single quotes, cut after `limit` bytes, with what a terminal could not show
/// replaced: for messages that quote the input.
std::string quote(std::string_view text, size_t limit = 60);

/// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so the
/// result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

}  // namespace chakra
