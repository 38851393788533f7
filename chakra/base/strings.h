// Text that lives as long as its owner. Arena: append-only bytes that never move.
// StringPool: equal strings stored once and named by a dense 32-bit id, so that
// columns hold ids and comparisons are comparisons of integers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/column.h"

namespace chakra {

/// Append-only bytes; views stay valid until the arena and all its copies are destroyed. A copy
/// shares the existing blocks and adds its text to new blocks. Cost of a copy: O(blocks).
class Arena {
 public:
  Arena() = default;
  Arena(const Arena& other) : blocks_(other.blocks_) {}
  Arena(Arena&& other) noexcept
      : blocks_(std::move(other.blocks_)),
        used_(std::exchange(other.used_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Arena& operator=(Arena other) noexcept {
    blocks_.swap(other.blocks_);
    std::swap(used_, other.used_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  /// Copy text into the arena. Cost: O(text).
  std::string_view add(std::string_view text);

  /// Return room for `size` bytes that the caller writes; return unused bytes with shrink().
  char* reserve(size_t size);
  void shrink(size_t unused) { used_ -= unused; }

 private:
  std::vector<std::shared_ptr<char[]>> blocks_;
  size_t used_ = 0;  ///< bytes used of the last block
  size_t capacity_ = 0;
};

/// Hashes sixteen bytes per multiplication, inline; the hashes of absl and std are calls. As with
/// absl, the hash differs from process to process, so that no file can force collisions.
struct TextHash {
  size_t operator()(std::string_view text) const {
    constexpr uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xc2b2ae3d27d4eb4f;  // odd, half of their bits set
    const auto mix = [](uint64_t a, uint64_t b) {
      const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
      return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    };
    const auto load = [](const char* at, auto word) {
      __builtin_memcpy(&word, at, sizeof word);
      return uint64_t{word};
    };
    const char *at = text.data(), *const end = at + text.size();
    uint64_t hash = reinterpret_cast<uintptr_t>(&seed) ^ (text.size() * kA), a = 0, b = 0;
    if (text.size() > 16) {
      for (; end - at > 16; at += 16) hash = mix(load(at, uint64_t{}) ^ kA, load(at + 8, uint64_t{}) ^ hash);
      at = end - 16;
    }
    if (text.size() >= 8) {
      a = load(at, uint64_t{});
      b = load(end - 8, uint64_t{});
    } else if (text.size() >= 4) {
      a = load(at, uint32_t{});
      b = load(end - 4, uint32_t{});
    } else if (!text.empty()) {
      a = load(at, uint8_t{}) << 16 | load(at + text.size() / 2, uint8_t{}) << 8 | load(end - 1, uint8_t{});
    }
    return mix(kB ^ hash, mix(a ^ kA, b ^ hash));
  }

 private:
  static const char seed;  ///< its address changes from run to run
};

using StringId = uint32_t;

/// Interned strings. Id 0 is always "". String lookups and insertions are O(length),
/// amortised. Copies share their strings until one copy adds a string.
class StringPool {
 public:
  StringPool();

  StringId intern(std::string_view text);
  /// Return the id of a string; 0 (the empty string) if the pool does not contain the string.
  StringId find(std::string_view text) const;
  std::string_view operator[](StringId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }
  /// Give strings other texts. Copies keep theirs. Requires distinct ids other than 0, and distinct texts that no other
  /// string has. Cost: O(size()).
  void rename(std::span<const std::pair<StringId, std::string_view>> names);
  /// Whether both have the same strings in the same memory, as copies do until one of them adds or renames a string.
  bool shares_with(const StringPool& other) const { return texts_.shares_with(other.texts_); }

 private:
  struct Slot {
    uint32_t hash = 0;  ///< the upper half of the hash
    StringId id = 0;
  };
  static constexpr StringId kFree = UINT32_MAX;

  Arena arena_;
  Column<std::string_view> texts_;
  Column<Slot> slots_;  ///< a power of two, at most three quarters in use; linear probing

  size_t slot_of(std::string_view text, size_t hash) const;  ///< the slot of the string, or the slot for adding it
  void fill_slots(size_t slots);
};

/// Whether text == literal, in a few instructions: a parser makes this comparison for every field.
template <size_t N>
bool is(std::string_view text, const char (&literal)[N]) {
  return text.size() == N - 1 && __builtin_memcmp(text.data(), literal, N - 1) == 0;
}
/// Convert ASCII to lower case: bytes above 127 stay unchanged.
std::string to_lower(std::string_view text);
bool contains(std::string_view text, std::string_view part);
bool contains_ignoring_case(std::string_view text, std::string_view part);

/// Parse the whole of `text` as a decimal integer ("0x" for hexadecimal);
/// false if the text is not an integer or the integer does not fit.
bool parse_integer(std::string_view text, int64_t& value);
bool parse_unsigned(std::string_view text, uint64_t& value);
/// Parse a number as people write numbers in options and files: decimal, without leading zeros. Rejects
/// "0x10", "010" and "1_000", which programs may read as 16, 8 and 1,000 or in another way.
bool parse_decimal(std::string_view text, int64_t& value);
bool parse_decimal(std::string_view text, uint64_t& value);
bool parse_decimal(std::string_view text, double& value);  ///< also "1.5", "2e-3"; finite

/// Return the length of the UTF-8 sequence that begins at text[at], or 0 if the sequence is not well formed.
size_t utf8_length(std::string_view text, size_t at);

/// Make text from outside safe for one line of a terminal, a table or a page. Bytes that
/// are not UTF-8 and control characters become "\\x1b"; C1 controls, characters that change
/// the direction of writing and line ends become "\\u202e". Cost: O(text).
std::string escape(std::string_view text);
/// The same, but line ends and tabs stay: for text of the program that
/// contains text from outside. JSON stays JSON of the same value.
std::string escape_lines(std::string_view text);

/// Return `text` between single quotes, cut after `limit` bytes, with
/// unprintable characters replaced: for messages that quote the input.
std::string quote(std::string_view text, size_t limit = 60);

/// Append `text`. Each byte that is not UTF-8 becomes U+FFFD; all other characters stay.
void append_utf8(std::string& out, std::string_view text);

/// Append `text` as a JSON string with its quotes: a reader gets the text of append_utf8. Bytes that are not
/// UTF-8 become U+FFFD, so the result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

}  // namespace chakra
