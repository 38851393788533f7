// Convert an answer to text and CSV. A text is a list of data rows beside the code of the answer: lines and tables of
// keys. A text has only numbers of the answer, and four derivations: a share of another cell, a sum over rows with the
// same text, a count of identical rows, and an order by rank.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"

namespace chakra::view {

// A template is text with keys in braces, which are shown with units. In a row of a table, keys are columns of the
// table; otherwise keys are values of the answer:
//
//     {subject}           the subject of the request, such as a path
//     {makespan_ps}       "3.250 ms"
//     {+change_ps}        with a sign: "+2.000 ms"
//     {busy_ps/all_ps}    a share: "25.00 %"; missing if the whole is 0
//     {#ranks}  {#}       number of rows of the table; number of rows folded into this row
//     {actors.mfu..}      range of a column, without zeros: "3.10 % to 4.20 %"
//     {actors.device*mfu} distinct texts of a column, of rows that have the other column
//     {edges*}            the cells of the rows of a table: "data 12, comm 3"
//     {?key}  {?key=text} empty, but missing unless the value is true, other than 0 or "", or equal to the text
//     {?#ranks}           likewise for the number of rows of the table
//
// With a leading dot ("{.bytes}"), a key names a value even if the table has a column of this name.
//
// If a key is missing, the whole line is omitted. A part in brackets is omitted alone, or replaced by the next
// alternative: "[{error}|not known]". "[!{a}|{b}]" requires one alternative, else the line is omitted.

enum class Hide : uint8_t { never, missing, zero };  ///< a column with this property in every row

struct ShowColumn {
  std::string_view key;  ///< a column; with "+" before the key: with a sign; "#": number of rows; or a template
  std::string_view heading = {};
  std::string_view share =
      {};  ///< adds a column: the share of this other column in the row, or of this value; "*": of the sum
  Hide hide = Hide::never;
  bool bar = false;                                       ///< adds a column: a bar relative to the largest value
  bool alike = false;                                     ///< place of " (and 3 identical)"
  std::string_view (*words)(std::string_view) = nullptr;  ///< converts a text
};

inline constexpr size_t kAllRows = SIZE_MAX;

/// A line, a table, a line for each row of a table, or the findings.
struct Show {
  std::string_view when = {};  ///< a template; if missing, nothing is shown
  std::string_view line = {};  ///< a template
  /// A table, or (with a dot at the end) the values with this prefix, as one row. With "*" at the end: all tables with
  /// rows and this prefix. The title is the meaning of the table, and columns without a heading are left out.
  std::string_view table = {};
  std::string_view title = {};  ///< a line above the table
  /// Below the line of each row: nested tables of the row, and findings of the row. The findings are a nested table, or
  /// as many of all findings as column `findings` has.
  const struct Text* inside = nullptr;
  bool joined = false;           ///< append the rows to the previous table, with the columns of that table
  size_t first = 10;             ///< rows
  std::string_view only = {};    ///< a column: only rows with true
  std::string_view fold = {};    ///< columns, separated by commas: rows that are equal there are merged
  bool sum = false;              ///< merge rows with the same text in the first column, and add up numbers
  std::string_view ranked = {};  ///< a column: sort by this column, largest first
  std::span<const ShowColumn> columns = {};
  bool findings = false;  ///< findings of `table`, else all; the most severe finding last, near the prompt
};

/// The text for a kind of answers, and {subject} of one answer.
struct Text {
  std::span<const Show> shows;
  std::string_view subject = {};
};
/// Return the text of an answer. Cost: O(cells of the tables shown).
std::string to_text(const answer::Answer& answer, const Text& text);
/// Return all rows and columns of a table, with keys as headings; for a nested table, also the number of the parent
/// row, from 0. Cost: O(cells), in time and memory.
std::string to_text(const answer::Answer& answer, const answer::Table& table);
/// Write CSV (RFC 4180) in pieces: a header line of keys, numbers in the units of the keys, an empty field for a
/// missing cell, the first column as for to_text(). Errors: as for `write`.
Result<void> write_csv(const answer::Table& table, const std::function<Result<void>(std::string_view piece)>& write);
/// Write an Arrow IPC file in pieces, in batches of at most 65,536 rows. Whole numbers are 64-bit integers, numbers are
/// doubles; a value of type `any` is a text with its JSON. The metadata of a column have its unit and meaning. A nested
/// table has the column `row`, the number of the parent row. Bytes that are not UTF-8 become U+FFFD. Cost: O(cells),
/// memory for a batch. Errors: as for `write`.
Result<void> write_arrow(const answer::Table& table, const std::function<Result<void>(std::string_view piece)>& write);

/// Return defects of rows, given a complete answer: an unknown "table.column" or key, and templates with digits in the
/// text. Empty without defects. For tests.
std::vector<std::string> defects(std::span<const Show> shows, const answer::Answer& schema);

}  // namespace chakra::view
