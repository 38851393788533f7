#include "chakra/base/strings.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace chakra {

const char TextHash::seed = 0;

char* Arena::reserve(size_t size) {
  if (capacity_ - used_ < size) {
    capacity_ = std::max<size_t>(size, size_t{1} << std::min<size_t>(20, 12 + blocks_.size()));  // 4 KiB to 1 MiB
    blocks_.push_back(std::make_shared_for_overwrite<char[]>(capacity_));
    used_ = 0;
  }
  char* place = blocks_.back().get() + used_;
  used_ += size;
  return place;
}

std::string_view Arena::add(std::string_view text) {
  if (text.empty()) return {};
  char* place = reserve(text.size());
  std::memcpy(place, text.data(), text.size());
  return {place, text.size()};
}

StringPool::StringPool() { intern(""); }

size_t StringPool::slot_of(std::string_view text, size_t hash) const {
  CHAKRA_ASSERT(!slots_.empty());  // else it was moved from
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id == kFree || (slot.hash == hash >> 32 && texts_[slot.id] == text)) return at;
  }
}

void StringPool::fill_slots(size_t size) {
  slots_.assign(size, {0, kFree});
  const std::span<Slot> slots = slots_.edit();
  for (StringId id = 0; id < texts_.size(); ++id) {
    const size_t hash = TextHash()(texts_[id]);
    slots[slot_of(texts_[id], hash)] = {static_cast<uint32_t>(hash >> 32), id};
  }
}

StringId StringPool::intern(std::string_view text) {
  if (texts_.size() * 4 >= slots_.size() * 3) fill_slots(std::max<size_t>(16, 2 * slots_.size()));
  const size_t hash = TextHash()(text), at = slot_of(text, hash);
  if (slots_[at].id != kFree) return slots_[at].id;
  const auto id = static_cast<StringId>(texts_.size());
  slots_.edit(at) = {static_cast<uint32_t>(hash >> 32), id};
  if (texts_.size() == texts_.capacity())
    texts_.reserve(texts_.size() + texts_.size() / 4 + 16);  // a job has many pools
  texts_.push_back(arena_.add(text));
  return id;
}

void StringPool::rename(std::span<const std::pair<StringId, std::string_view>> names) {
  if (names.empty()) return;
  for (const auto& [id, text] : names) texts_.edit(id) = arena_.add(text);
  fill_slots(slots_.size());
}

StringId StringPool::find(std::string_view text) const {
  const StringId id = slots_[slot_of(text, TextHash()(text))].id;
  return id == kFree ? 0 : id;
}

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

template <class T>
bool parse(std::string_view text, T& value) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && lower(text[1]) == 'x') {
    base = 16;
    text.remove_prefix(2);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

namespace {

/// A number of at most 15 digits is a whole number by a power of ten, both exact as a double, so their quotient is
/// rounded once: the nearest double, sooner than by from_chars. False where the text is not that short and plain.
bool parse_short(std::string_view text, double& value) {
  constexpr size_t kExact = 15;
  constexpr double kTens[kExact + 1] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (text.empty() || text.size() > kExact) return false;
  uint64_t digits = 0;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') digits = 10 * digits + static_cast<uint64_t>(text[i] - '0');
    else if (text[i] == '.' && point == text.size() && i > 0 && i + 1 < text.size()) point = i;
    else return false;
  }
  value = static_cast<double>(digits) / kTens[point == text.size() ? 0 : text.size() - point - 1];
  return true;
}

/// From the first digit on: nothing, or a 0 that no digit follows, or another digit.
template <class T>
bool parse_plain(std::string_view text, T& value) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const auto is_digit = [&](size_t at) { return at < digits.size() && digits[at] >= '0' && digits[at] <= '9'; };
  if (is_digit(0) && digits[0] == '0' && is_digit(1)) return false;
  if constexpr (std::is_same_v<T, double>)
    if (parse_short(text, value)) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

bool parse_decimal(std::string_view text, int64_t& value) { return parse_plain(text, value); }
bool parse_decimal(std::string_view text, uint64_t& value) { return parse_plain(text, value); }
bool parse_decimal(std::string_view text, double& value) { return parse_plain(text, value) && std::isfinite(value); }

size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first >= 0xf5 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (first == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (first == 0xed && byte(1) > 0x9f) return 0;  // surrogate
  if (first == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (first == 0xf4 && byte(1) > 0x8f) return 0;  // above U+10FFFF
  return length;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

bool parse_integer(std::string_view text, int64_t& value) { return parse(text, value); }
bool parse_unsigned(std::string_view text, uint64_t& value) { return parse(text, value); }

namespace {

/// The character that is well formed and begins at text[at].
uint32_t code_point(std::string_view text, size_t at, size_t length) {
  uint32_t code = static_cast<unsigned char>(text[at]) & (length == 1 ? 0x7f : 0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  return code;
}

/// Characters beyond ASCII that a terminal obeys instead of showing them, or by which text reads otherwise than it
/// stands there: C1, marks and overrides of the direction of writing, ends of lines and paragraphs, tags.
bool obeyed(uint32_t code) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {{0x80, 0x9f},      {0x61c, 0x61c},   {0x200e, 0x200f},
                                                       {0x2028, 0x202e},  {0x2066, 0x2069}, {0xfeff, 0xfeff},
                                                       {0xe0000, 0xe007f}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code >= range.first && code <= range.second; });
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }

void append_escaped(std::string& out, std::string_view text, std::string_view kept) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (is_plain(text[end]) || kept.find(text[end]) != kept.npos)) ++end;
    out += text.substr(i, end - i);
    i = end;
    if (i == text.size()) return;
    const size_t length = utf8_length(text, i);
    const uint32_t code = length > 1 ? code_point(text, i, length) : 0;
    if (length < 2) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    else if (!obeyed(code)) out += text.substr(i, length);
    else if (code < 0x10000) out += fmt::format("\\u{:04x}", code);
    else out += fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    i += std::max<size_t>(length, 1);
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  append_escaped(out, text, {});
  return out;
}

std::string escape_lines(std::string_view text) {
  std::string out;
  append_escaped(out, text, "\n\t");
  return out;
}

std::string quote(std::string_view text, size_t limit) {
  std::string out = "'";
  const bool cut = text.size() > limit;
  append_escaped(out, text.substr(0, limit), {});
  out += cut ? "...'" : "'";
  return out;
}

void append_utf8(std::string& out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    out += length > 0 ? text.substr(at, length) : "\xef\xbf\xbd";
    at += std::max<size_t>(length, 1);
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {  // the common case, a run at a time
      size_t end = i + 1;
      while (end < text.size()) {
        const auto d = static_cast<unsigned char>(text[end]);
        if (d < 0x20 || d >= 0x7f || d == '"' || d == '\\') break;
        ++end;
      }
      out.append(text.substr(i, end - i));
      i = end;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i++];
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
      ++i;
    } else if (const size_t length = utf8_length(text, i); length > 0) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      out += "\\ufffd";
      ++i;
    }
  }
  out += '"';
}

}  // namespace chakra
