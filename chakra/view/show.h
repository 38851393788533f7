// Answer -> text and CSV. A text is a list of rows of data beside the code of the answer: lines and tables of its keys.
// It has no number of its own: each is a cell of the answer, or one of four derivations: a share of another one, a sum
// by rows that share a text, a count of rows that are alike, and an order by rank.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"

namespace chakra::view {

// A template is text with keys in braces, which are shown with their unit. In the row of a table they are columns of
// it, else values of the answer:
//
//     {subject}           what was asked about, such as a path
//     {makespan_ps}       "3.250 ms"
//     {+change_ps}        with its sign: "+2.000 ms"
//     {busy_ps/all_ps}    a share: "25.00 %"; of nothing there is none
//     {#ranks}  {#}       how many rows the table has; how many rows this one stands for
//     {actors.mfu..}      the least to the most of a column, without zeros: "3.10 % to 4.20 %"
//     {actors.device*mfu} the texts of a column, each once, of rows that have the other column
//     {edges*}            the cells of a table's rows: "data 12, comm 3"
//     {?key}  {?key=text} nothing, but missing unless the value is true, other than 0 or "", or this text
//     {?#ranks}           the same of how many rows the table has
//
// With a dot before it ("{.bytes}"), a key is that of a value even where the table has a column of this name.
//
// Where one of them is missing, so is the whole line. A part in brackets is left out alone, or gives way to the next of
// its alternatives: "[{error}|not known]". One of "[!{a}|{b}]" is needed, else the line is missing.

enum class Hide : uint8_t { never, missing, zero };  ///< a column that is so in every row

struct ShowColumn {
  std::string_view key;  ///< of a column, "+" before it: with its sign; "#": how many rows; or a template
  std::string_view heading = {};
  std::string_view share =
      {};  ///< one more column, its share of this one of the row, else of this value; "*": of the sum
  Hide hide = Hide::never;
  bool bar = false;                                       ///< one more column, a bar by the largest
  bool alike = false;                                     ///< " (and 3 alike)" stands here
  std::string_view (*words)(std::string_view) = nullptr;  ///< of a text
};

inline constexpr size_t kAllRows = SIZE_MAX;

/// A line, a table, a line for each row of a table, or the findings.
struct Show {
  std::string_view when = {};  ///< a template; nothing is shown where it is missing
  std::string_view line = {};  ///< a template
  /// A table, or with a dot at its end the values that begin so, as one row. With "*" at its end: all tables with rows
  /// whose keys begin so, each with its meaning as title and those of its columns that have a heading (Info::heading).
  std::string_view table = {};
  std::string_view title = {};  ///< a line above the table
  /// Below the line of each row: tables that belong to it, and its findings. These are a table of it, or as many of all
  /// as its column `findings` says.
  const struct Text* inside = nullptr;
  bool joined = false;           ///< the rows belong to the table before, whose columns these are
  size_t first = 10;             ///< rows
  std::string_view only = {};    ///< a column: rows where it is true
  std::string_view fold = {};    ///< columns, by commas: rows that are equal there are one
  bool sum = false;              ///< rows of the same text in the first column are one, and numbers are their sums
  std::string_view ranked = {};  ///< a column: the largest first
  std::span<const ShowColumn> columns = {};
  bool findings = false;  ///< those of `table`, or else all; the most severe last, where eyes are
};

/// The text of a kind of answers, and what this one is about: {subject}.
struct Text {
  std::span<const Show> shows;
  std::string_view subject = {};
};
/// What people read of an answer. Cost: O(cells of the tables that are shown).
std::string to_text(const answer::Answer& answer, const Text& text);
/// Every row and every column of a table, under their keys; of a table that belongs to rows of another one also their
/// numbers, from 0. Cost: O(cells), memory for them.
std::string to_text(const answer::Answer& answer, const answer::Table& table);
/// RFC 4180 in pieces: a header line of keys, numbers in the units of the keys, nothing where a cell is missing, the
/// first column as for to_text(). Errors: those of `write`.
Result<void> write_csv(const answer::Table& table, const std::function<Result<void>(std::string_view piece)>& write);

/// What rows ask of an answer that has all there may be: "table.column" or a key that is not there, and texts of
/// templates with digits. Nothing where all is well: for tests.
std::vector<std::string> defects(std::span<const Show> shows, const answer::Answer& schema);

}  // namespace chakra::view
