// Strings without their escapes, and values as Python prints them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "chakra/json/json.h"

namespace chakra::json {
namespace {

/// Decodes the JSON string whose opening quote is at json[i], leaves i behind the closing one.
std::string decode_string(std::string_view json, size_t& i) {
  std::string text;
  const auto is_hex4 = [&](size_t at) { return at <= json.size() && are_hex(json.substr(at, 4)); };
  const auto hex4 = [&](size_t at) {
    unsigned value = 0;
    std::from_chars(json.data() + at, json.data() + at + 4, value, 16);
    return value;
  };
  for (++i; i < json.size() && json[i] != '"'; ++i) {
    if (json[i] != '\\') {
      text += json[i];
      continue;
    }
    if (++i >= json.size()) break;
    switch (json[i]) {
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      case 'r': text += '\r'; break;
      case 'b': text += '\b'; break;
      case 'f': text += '\f'; break;
      case 'u': {
        if (!is_hex4(i + 1)) {  // no JSON: as it stands
          text += "\\u";
          break;
        }
        unsigned code = hex4(i + 1);
        i += 4;
        if (code >= 0xd800 && code < 0xdc00 && json.substr(i + 1, 2) == "\\u" && is_hex4(i + 3)) {
          code = 0x10000 + ((code - 0xd800) << 10) + (hex4(i + 3) - 0xdc00);
          i += 6;
        }
        const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
        if (code < 0x80) put(code);
        else if (code < 0x800) put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
        else if (code < 0x10000) put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
        else
          put(0xf0 | (code >> 18 & 7)), put(0x80 | (code >> 12 & 0x3f)), put(0x80 | (code >> 6 & 0x3f)),
              put(0x80 | (code & 0x3f));
        break;
      }
      default: text += json[i];
    }
  }
  ++i;
  return text;
}

void append_python_string(std::string& out, std::string_view text) {
  const char quote_mark = contains(text, "'") && !contains(text, "\"") ? '"' : '\'';
  out += quote_mark;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\\' || text[i] == quote_mark) {
      out += '\\';
      out += text[i++];
    } else if (c == '\n') {
      out += "\\n", ++i;
    } else if (c == '\t') {
      out += "\\t", ++i;
    } else if (c == '\r') {
      out += "\\r", ++i;
    } else if (c < 0x20 || c == 0x7f || utf8_length(text, i) == 0) {
      out += fmt::format("\\x{:02x}", c), ++i;
    } else {
      const size_t length = utf8_length(text, i);
      out.append(text.substr(i, length));
      i += length;
    }
  }
  out += quote_mark;
}

/// Python prints the shortest decimal that reads back as the same double.
void append_python_number(std::string& out, std::string_view number) {
  if (number.find_first_of(".eE") == std::string_view::npos) {
    out += number;
    return;
  }
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  out += text;
}

/// What append_python_repr does with a byte outside strings.
enum class Repr : uint8_t { copy, blank, quote, separator, fraction, letter };
constexpr std::array<Repr, 256> kRepr = [] {
  std::array<Repr, 256> table{};
  for (const char c : {' ', '\n', '\r', '\t'}) table[static_cast<size_t>(c)] = Repr::blank;
  for (const char c : {'.', 'e', 'E'}) table[static_cast<size_t>(c)] = Repr::fraction;
  for (const char c : {'t', 'f', 'n'}) table[static_cast<size_t>(c)] = Repr::letter;
  table['"'] = Repr::quote;
  table[','] = table[':'] = Repr::separator;
  return table;
}();

/// Bytes of a string that are the same in Python as in JSON.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < 0x7f; ++c) table[c] = c != '"' && c != '\\' && c != '\'';
  return table;
}();

#if defined(__SSE2__)
constexpr size_t kAtOnce = 16;

/// Copies what stands in Python as it does in JSON but for the quotes, 16 bytes at a time, and returns the index behind
/// it: of the first byte outside strings that does not, or of the quote of a string that has one. Requires that
/// json[begin], begin > 0, is outside strings, and room for a block more than is left. Does not know objects.
size_t copy_alike(std::string_view json, size_t begin, char* to) {
  size_t quote = 0;  // the last
  bool inside = false;
  for (size_t i = begin; i < json.size(); i += kAtOnce) {
    const size_t size = std::min(kAtOnce, json.size() - i);
    char tail[kAtOnce + 2];  // the block, the byte before it and the byte after
    const char* block = json.data() + i;
    if (size + 1 > json.size() - i || size < kAtOnce) {
      std::memset(tail, 0, sizeof tail);
      std::memcpy(tail, block - 1, size + 1);
      block = tail + 1;
    }
    const auto load = [&](int offset) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + offset)); };
    const auto same = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    const auto below = [](__m128i bytes, char c) { return _mm_cmplt_epi8(bytes, _mm_set1_epi8(c)); };  // or not ASCII
    const auto either = [](auto... masks) {
      __m128i any = _mm_setzero_si128();
      return ((any = _mm_or_si128(any, masks)), ...), any;
    };
    const __m128i bytes = load(0), before = load(-1), behind = load(1);
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20)), quotes = same(bytes, '"');
    const __m128i digit_before = _mm_andnot_si128(below(before, '0'), below(before, '9' + 1));
    const __m128i odd = either(below(bytes, 0x20), same(bytes, 0x7f), same(bytes, '\\'), same(bytes, '\''),
                               same(bytes, '{'), _mm_andnot_si128(same(behind, ' '), same(bytes, ',')),
                               _mm_andnot_si128(same(before, ','), same(bytes, ' ')),
                               _mm_and_si128(digit_before, either(same(bytes, '.'), same(folded, 'e'))),
                               _mm_and_si128(either(same(before, '['), same(before, ','), below(before, ' ' + 1)),
                                             either(same(bytes, 't'), same(bytes, 'f'), same(bytes, 'n'))));
    // '"' ^ 5 is '\''.
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (i - begin)),
                     _mm_xor_si128(bytes, _mm_and_si128(quotes, _mm_set1_epi8('"' ^ '\''))));
    const uint32_t stops = static_cast<uint32_t>(_mm_movemask_epi8(odd)) | 1u << size;
    const auto good = static_cast<size_t>(std::countr_zero(stops));
    const uint32_t marks = static_cast<uint32_t>(_mm_movemask_epi8(quotes)) & ((1u << good) - 1);
    if (marks != 0) quote = i + 31 - static_cast<size_t>(std::countl_zero(marks));
    inside ^= (std::popcount(marks) & 1) != 0;
    if (good < kAtOnce) return inside ? quote : i + good;
  }
  return inside ? quote : json.size();
}
#else
constexpr size_t kAtOnce = 0;
size_t copy_alike(std::string_view, size_t begin, char*) { return begin; }
#endif

}  // namespace

std::string decoded(std::string_view token) {
  if (token.find('\\') == std::string_view::npos) return std::string(token);
  size_t i = 0;
  return decode_string(fmt::format("\"{}\"", token), i);
}

void append_python_repr(std::string& out, std::string_view json) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(json[i]); };
  size_t i = 0;
  size_t used = out.size();
  char* to = nullptr;
  // Room for `more` bytes and what follows: two bytes for each, but for what append() appends.
  const auto make_room = [&](size_t more) {
    const size_t left = json.size() - std::min(i, json.size());  // i: behind a quote that is missing
    if (used + more + 2 * left + kAtOnce > out.size()) out.resize(used + more + 2 * left + kAtOnce);
    to = out.data() + used;
  };
  std::string piece;
  const auto append = [&](const auto& function) {
    piece.clear();
    function();
    used = static_cast<size_t>(to - out.data());
    make_room(piece.size());
    to += piece.copy(to, piece.size());
  };
  make_room(0);
  size_t copy_from = 1;
  while (i < json.size()) {
    if (i >= copy_from && json[i] != ' ') {  // behind a separator it would not be alike
      const size_t end = copy_alike(json, i, to);
      copy_from = end + (end - i < kAtOnce ? 4 * kAtOnce + 1 : 1);  // where little is alike, byte by byte is faster
      to += end - i;
      i = end;
      if (i == json.size()) break;
    }
    if (json[i] == '{') copy_from = json.size();  // colons of objects are not alike
    switch (kRepr[at(i)]) {
      case Repr::copy: *to++ = json[i++]; break;
      case Repr::blank: ++i; break;
      case Repr::separator:
        *to++ = json[i++];
        *to++ = ' ';
        break;
      case Repr::quote: {
        char* const opening = to;
        size_t end = i + 1;  // the common string needs no decoding
        *to++ = '\'';
        while (end < json.size() && kPlain[at(end)]) *to++ = json[end++];
        if (end < json.size() && json[end] == '"') {
          *to++ = '\'';
          i = end + 1;
        } else {
          to = opening;
          append([&] { append_python_string(piece, decode_string(json, i)); });
        }
        break;
      }
      case Repr::fraction: {  // of a number, whose digits have been copied
        size_t begin = i, end = i + 1;
        while (begin > 0 && (is_digit(json[begin - 1]) || json[begin - 1] == '-')) --begin;
        if (begin == i) {
          *to++ = json[i++];
          break;
        }
        while (end < json.size() && (is_digit(json[end]) || contains("+-.eE", json.substr(end, 1)))) ++end;
        to -= i - begin;
        i = end;
        append([&] { append_python_number(piece, json.substr(begin, end - begin)); });
        break;
      }
      case Repr::letter: {
        const std::string_view rest = json.substr(i);
        const std::string_view word = rest.starts_with("true")    ? "True"
                                      : rest.starts_with("false") ? "False"
                                      : rest.starts_with("null")  ? "None"
                                                                  : rest.substr(0, 1);
        to += word.copy(to, word.size());
        i += word.size();
        break;
      }
    }
  }
  out.resize(static_cast<size_t>(to - out.data()));
}

}  // namespace chakra::json
