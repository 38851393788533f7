#include "chakra/pack/texts.h"

#include <algorithm>
#include <charconv>

namespace chakra::pack {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void split_numbers(std::string_view text, std::string& pattern, std::vector<uint64_t>& numbers) {
  constexpr size_t kMostDigits = 18;
  pattern.clear();
  numbers.clear();
  size_t literal = 0;
  if (text.find('\0') == text.npos)
    for (size_t i = 0; i < text.size();) {
      if (!is_digit(text[i])) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < text.size() && is_digit(text[end])) ++end;
      if (end - i <= kMostDigits && (text[i] != '0' || end - i == 1)) {
        uint64_t number = 0;
        for (size_t d = i; d < end; ++d) number = number * 10 + static_cast<uint64_t>(text[d] - '0');
        numbers.push_back(number);
        pattern.append(text, literal, i - literal);
        pattern += '\0';
        literal = end;
      }
      i = end;
    }
  pattern.append(text, literal);
}

size_t count_numbers(std::string_view pattern) {
  return static_cast<size_t>(std::count(pattern.begin(), pattern.end(), '\0'));
}

void join_numbers(std::string_view pattern, const std::vector<uint64_t>& numbers, std::string& out) {
  size_t at = 0;
  for (const uint64_t number : numbers) {
    const size_t next = pattern.find('\0', at);
    out.append(pattern, at, next - at);
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    at = next + 1;
  }
  out.append(pattern, at);
}

}  // namespace chakra::pack
