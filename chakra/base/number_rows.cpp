#include "chakra/base/number_rows.h"

#include <fmt/core.h>
#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "chakra/base/strings.h"

namespace chakra {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The digits that a number begins with, at most eight, found and read eight bytes at a time.
struct Digits {
  size_t count;
  uint64_t value;
};
/// Requires: eight bytes.
Digits leading_digits(const char* at) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  bytes ^= 0x3030303030303030;                                                          // digits are 0 to 9 now
  const uint64_t others = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;  // right up to the first of them
  if ((others & 0x80) != 0) return {0, 0};
  const auto bits = static_cast<size_t>(std::countr_zero(others)) & ~size_t{7};  // 64 where all are digits
  bytes <<= 64 - bits;                                                           // zeros in front
  bytes = bytes * 10 + (bytes >> 8);
  constexpr uint64_t kPairs = 0x000000ff000000ff;
  bytes =
      (bytes & kPairs) * (100 + (uint64_t{1'000'000} << 32)) + (bytes >> 16 & kPairs) * (1 + (uint64_t{10'000} << 32));
  return {bits / 8, bytes >> 32};
}

/// Reads a number of up to eight digits, a point and up to seven more, nearly all that is measured. As a whole number
/// and a power of ten they are exact, so that their quotient is the nearest number. Returns what comes after it; null
/// where it is something else. Requires: kShortNumber bytes.
constexpr ptrdiff_t kShortNumber = 18;
const char* short_number(const char* at, double& value) {
  static constexpr std::array<uint64_t, 8> kPowers{1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000};
  const Digits whole = leading_digits(at);
  if (whole.count == 0 || (whole.count > 1 && *at == '0')) return nullptr;
  at += whole.count;
  if (*at != '.') {
    value = static_cast<double>(whole.value);
    return at;
  }
  const Digits behind = leading_digits(++at);
  if (behind.count == 0 || behind.count == kPowers.size()) return nullptr;
  const uint64_t power = kPowers[behind.count];
  value = static_cast<double>(whole.value * power + behind.value) / static_cast<double>(power);
  return at + behind.count;
}

/// Reads a row of short numbers, with a comma or a comma and a space between two. Returns what comes after it; null
/// where it is something else.
const char* short_row(const char* at, const char* end, std::span<double> cells) {
  if (std::endian::native != std::endian::little) return nullptr;
  if (end - at < kShortNumber * static_cast<ptrdiff_t>(cells.size() + 1)) return nullptr;
  char expected = '[';
  for (double& cell : cells) {
    if (*at++ != expected) return nullptr;
    if (*at == ' ') ++at;
    at = short_number(at, cell);
    if (!at) return nullptr;
    expected = ',';
  }
  return *at == ']' ? at + 1 : nullptr;
}

/// Reads rows of numbers in one pass: files of measurements have a hundred thousand.
class RowReader {
 public:
  /// Requires: text from `begin`.
  RowReader(std::string_view text, size_t begin)
      : text_(text), at_(text.data() + begin), end_(text.data() + text.size()) {}

  std::optional<NumberTable> read(size_t most, std::vector<double>& cells) {
    cells.clear();
    if (!take('[') || !row(cells)) return std::nullopt;
    const size_t columns = cells.size();
    while (take(',')) {
      const size_t before = cells.size();
      skip_blanks();
      cells.resize(before + columns);
      if (const char* const behind = short_row(at_, end_, std::span(cells).last(columns))) {
        at_ = behind;
      } else {
        cells.resize(before);
        if (!row(cells) || cells.size() - before != columns) return std::nullopt;
      }
      if (cells.size() > most) return std::nullopt;
    }
    if (!take(']')) return std::nullopt;
    return NumberTable{columns, cells};
  }
  size_t end() const { return static_cast<size_t>(at_ - text_.data()); }  ///< where it stopped
  int64_t lines() const { return lines_; }                                ///< that ended on the way

 private:
  void skip_blanks() {
    const char* at = at_;
    for (; at < end_ && is_json_blank(*at); ++at) lines_ += *at == '\n';
    at_ = at;
  }
  bool take(char c) {
    if (at_ < end_ && *at_ != c) skip_blanks();
    const bool is = at_ < end_ && *at_ == c;
    at_ += is;
    return is;
  }

  /// Appends a row of any numbers.
  bool row(std::vector<double>& cells) {
    if (!take('[')) return false;
    do {
      if (!number(cells.emplace_back())) return false;
    } while (take(','));
    return take(']');
  }

  /// A number as JSON writes it that a comma or bracket follows, at once or behind blanks.
  bool number(double& value) {
    skip_blanks();
    const char* p = at_;
    while (p < end_ && *p != ',' && *p != ']' && !is_json_blank(*p)) ++p;
    const std::string_view word(at_, static_cast<size_t>(p - at_));
    at_ = p;
    return is_json_number(word) && parse_decimal(word, value);
  }

  std::string_view text_;
  const char *at_, *end_;
  int64_t lines_ = 0;
};

}  // namespace

bool is_json_number(std::string_view text) {
  if (text == "true" || text == "false") return true;
  size_t i = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const size_t begin = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - begin;
  };
  const bool zero = i < text.size() && text[i] == '0';
  const size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

RowsText find_rows(std::string_view text, size_t begin) {
  constexpr size_t kPart = 128;  // for whose sums a byte has room: the compiler takes 16 bytes at a time
  RowsText found{begin};
  for (; found.end + kPart < text.size(); found.end += kPart) {
    const char* const at = text.data() + found.end;
    uint8_t lines = 0, ends = 0;
    for (size_t i = 0; i < kPart; ++i) {
      lines = static_cast<uint8_t>(lines + (at[i] == '\n'));
      ends = static_cast<uint8_t>(ends | (at[i] == '"') | ((at[i] == ']') & (at[i + 1] == ']')));
    }
    if (ends != 0) break;
    found.lines += lines;
  }
  for (; found.end + 1 < text.size() && text[found.end] != '"'; ++found.end) {
    if (text[found.end] == ']' && text[found.end + 1] == ']') return {found.end + 2, found.lines};
    found.lines += text[found.end] == '\n';
  }
  return {};
}

std::optional<NumberRows> read_rows(std::string_view text, size_t begin, size_t most, std::vector<double>& room) {
  RowReader rows(text, begin);
  std::optional<NumberTable> table = rows.read(most, room);
  return table ? std::optional(NumberRows{std::move(*table), rows.end(), rows.lines()}) : std::nullopt;
}

std::optional<NumberTable> read_rows(std::string_view text) {
  std::vector<double> room;
  std::optional<NumberRows> rows = read_rows(text, 0, text.size(), room);
  return rows && rows->end == text.size() ? std::optional(std::move(rows->table)) : std::nullopt;
}

std::string text_checksum(std::string_view text) {
  return fmt::format("{:08x}", crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

}  // namespace chakra
