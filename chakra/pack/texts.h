// Texts as a pattern and numbers. Numbers in texts count up from node to node and from rank to rank; without
// the numbers, few different texts are left.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace chakra::pack
