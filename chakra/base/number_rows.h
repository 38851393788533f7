// Read rows of numbers in JSON in a tenth of the time of a tree. Files of measurements have a hundred thousand rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chakra {

/// Rows of numbers with equal numbers of columns.
struct NumberTable {
  size_t columns = 0;
  std::vector<double> cells;     ///< row by row
  std::string_view unread = {};  ///< instead of cells: the table's text, for read_rows()
};
/// Return std::nullopt if the text is not a list of such rows.
std::optional<NumberTable> read_rows(std::string_view text);

/// Return the checksum that proves a table's text unchanged: CRC-32 as in gzip, as eight hexadecimal digits.
std::string text_checksum(std::string_view text);

/// A table in a longer text.
struct NumberRows {
  NumberTable table;
  size_t end = 0;     ///< end of the table in the text
  int64_t lines = 0;  ///< line ends within the table
};
/// Return std::nullopt if no table begins at `begin`, or the table has more than `most` numbers. Tables share `room`.
std::optional<NumberRows> read_rows(std::string_view text, size_t begin, size_t most, std::vector<double>& room);

inline bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
/// Whether the text is a JSON number, true or false.
bool is_json_number(std::string_view text);

/// The text of a table that its first "]]" ends: the place behind these brackets, and the line ends before.
/// Without such brackets before the next quotation mark, `end` is std::string_view::npos: texts are not parts
/// of tables, so each byte of a file is looked at once. Cost: a tenth of that of read_rows().
struct RowsText {
  size_t end = std::string_view::npos;
  int64_t lines = 0;
};
RowsText find_rows(std::string_view text, size_t begin);

}  // namespace chakra
