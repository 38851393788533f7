// Classes of characters of a JSON text.
#pragma once

#include <string_view>

namespace chakra::json {

inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Whether the text is the four digits of an escape.
inline bool are_hex(std::string_view text) {
  return text.size() == 4 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace chakra::json
