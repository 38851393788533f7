#include "chakra/pack/texts.h"

#include <algorithm>
#include <charconv>

#include "chakra/schema/schema.h"

namespace chakra::pack {
namespace {

constexpr size_t kLongest = 20;  ///< digits of a number

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

Pattern::Pattern(std::string_view text, bool has_numbers) : text_(text), has_numbers_(has_numbers) {
  if (!has_numbers) return;
  size_t at = 0;
  for (size_t next = text.find('\0'); next != text.npos; next = text.find('\0', at)) {
    pieces_.push_back(static_cast<uint32_t>(next - at));
    at = next + 1;
  }
}

size_t Pattern::most_bytes() const { return text_.size() + kLongest * pieces_.size(); }

char* Pattern::join(const std::vector<uint64_t>& numbers, char* at) const {
  using schema::wire::bytes_at;
  size_t begin = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    at = bytes_at(at, text_.substr(begin, pieces_[i]));
    at = std::to_chars(at, at + kLongest, numbers[i]).ptr;
    begin += pieces_[i] + 1;
  }
  return bytes_at(at, text_.substr(begin));
}

char* Scratch::room(size_t size) {
  if (blocks_.empty() || size_ - used_ < size) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(std::max(size, kBlock)));
    size_ = std::max(size, kBlock);
    used_ = 0;
  }
  return blocks_.back().get() + used_;
}

std::string_view Scratch::add(std::string_view text) {
  char* const at = room(text.size());
  std::copy(text.begin(), text.end(), at);
  take(text.size());
  return {at, text.size()};
}

void Scratch::clear() {
  if (blocks_.size() > 1 || size_ > kBlock) {
    blocks_.clear();
    size_ = 0;
  }
  used_ = 0;
}

}  // namespace chakra::pack
