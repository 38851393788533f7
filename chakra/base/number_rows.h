// Rows of numbers in JSON, as files of measurements have a hundred thousand of, in a tenth of the time of a tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chakra {

/// Rows of numbers, all of as many columns.
struct NumberTable {
  size_t columns = 0;
  std::vector<double> cells;     ///< row by row
  std::string_view unread = {};  ///< instead of them: the table's text, for read_rows()
};
/// Nothing where the text is not a list of such rows.
std::optional<NumberTable> read_rows(std::string_view text);

/// By which a table says that its text is as it was written: CRC-32 as gzip has it, in eight hexadecimal digits.
std::string text_checksum(std::string_view text);

/// A table in a longer text.
struct NumberRows {
  NumberTable table;
  size_t end = 0;     ///< of the table, in the text
  int64_t lines = 0;  ///< that end in it
};
/// Nothing where something else begins at `begin`, or there are more than `most` numbers. `room` is what tables share.
std::optional<NumberRows> read_rows(std::string_view text, size_t begin, size_t most, std::vector<double>& room);

inline bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
/// A number as JSON writes it, true or false.
bool is_json_number(std::string_view text);

int64_t count_lines(std::string_view text);

}  // namespace chakra
