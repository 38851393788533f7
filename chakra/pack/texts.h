// Texts as a pattern and numbers. Numbers in texts count up from node to node and from rank to rank; without
// the numbers, few different texts are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace chakra::pack {

/// Split a text into its numbers and a pattern, in which \0 stands for each number. Numbers with leading zeros or more
/// than 18 digits stay in the pattern, and all numbers of a text that contains \0.
void split_numbers(std::string_view text, std::string& pattern, std::vector<uint64_t>& numbers);
/// Return how many numbers a pattern has.
size_t count_numbers(std::string_view pattern);
/// Append the text to `out`. There must be a number for each \0.
void join_numbers(std::string_view pattern, const std::vector<uint64_t>& numbers, std::string& out);

/// An entry of the dictionary, split at its zero bytes once for all texts that are made from it. The entry must stay.
class Pattern {
 public:
  /// `has_numbers`: zero bytes stand for numbers.
  Pattern(std::string_view text, bool has_numbers);

  std::string_view text() const { return text_; }
  bool has_numbers() const { return has_numbers_; }
  size_t numbers() const { return pieces_.size(); }
  size_t most_bytes() const;  ///< of a text
  /// Write the text at `at`, where most_bytes() fit, and return its end. Requires numbers() numbers.
  char* join(const std::vector<uint64_t>& numbers, char* at) const;

 private:
  std::string_view text_;
  bool has_numbers_;
  std::vector<uint32_t> pieces_;  ///< per number: the bytes between the number before and the number
};

/// Memory for texts that live until clear(). Texts do not move.
class Scratch {
 public:
  /// Return room for `size` bytes; take() keeps the first of them.
  char* room(size_t size);
  void take(size_t size) { used_ += size; }
  std::string_view add(std::string_view text);
  /// Drop all texts; keep memory for the next texts.
  void clear();

 private:
  static constexpr size_t kBlock = size_t{1} << 16;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = 0, size_ = 0;  ///< of the last block
};

}  // namespace chakra::pack
