// Single values as JSON.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "chakra/answer/answer.h"

namespace chakra::answer {
namespace {

/// How many bytes at text[at] begin a sequence that is not UTF-8 and belong together.
size_t broken_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at), second = byte(at + 1);
  const size_t whole = first >= 0xf0 && first < 0xf5   ? 4
                       : first >= 0xe0 && first < 0xf0 ? 3
                       : first >= 0xc2 && first < 0xe0 ? 2
                                                       : 1;
  if (whole < 3) return 1;
  const unsigned low = first == 0xe0   ? 0xa0
                       : first == 0xf0 ? 0x90
                                       : 0x80,
                 high = first == 0xed   ? 0x9f
                        : first == 0xf4 ? 0x8f
                                        : 0xbf;
  if (second < low || second > high) return 1;
  size_t length = 2;
  while (length < whole && (byte(at + length) & 0xc0) == 0x80) ++length;
  return length;
}

}  // namespace

void append_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char text[32];
  const auto scientific = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const std::string_view shortest(text, static_cast<size_t>(scientific.ptr - text));
  const size_t e = shortest.find('e');
  int exponent = 0;
  std::from_chars(shortest.data() + e + 1 + (shortest[e + 1] == '+'), shortest.data() + shortest.size(), exponent);
  if (exponent < -4 || exponent >= 15) {
    out += shortest;
    return;
  }
  const auto fixed = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  out.append(text, fixed.ptr);
  if (std::find(text, fixed.ptr, '.') == fixed.ptr) out += ".0";
}

void append_text(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text, i);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      i += broken_length(text, i);
      continue;
    }
    if (c == '"' || c == '\\') (out += '\\') += text[i];
    else if (const size_t at = std::string_view("\b\f\n\r\t").find(text[i]); at != std::string_view::npos && c < 0x20)
      (out += '\\') += "bfnrt"[at];
    else if (c < 0x20) ((out += "\\u00") += kHex[c >> 4]) += kHex[c & 15];
    else out += text.substr(i, length);
    i += length;
  }
  out += '"';
}

std::string json_of(const Cell& cell, Type type) {
  std::string json;
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "true" : "false";
  if (const auto* natural = std::get_if<uint64_t>(&cell)) return std::to_string(*natural);
  if (const auto* whole = std::get_if<int64_t>(&cell))
    return type == Type::natural ? std::to_string(static_cast<uint64_t>(*whole)) : std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) append_real(json, *real);
  else if (const auto* text = std::get_if<std::string>(&cell)) append_text(json, *text);
  else return "null";
  return json;
}

}  // namespace chakra::answer
