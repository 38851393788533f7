// Format values of an answer for people, and find the values of templates (show.h). Private.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chakra/answer/answer.h"

namespace chakra::view {

struct Shown {
  answer::Type type = answer::Type::text;
  answer::Unit unit = answer::Unit::none;
  answer::Cell cell;  ///< never missing
};

/// Return the value, or nullopt if the cell is missing or is a number that is not finite.
std::optional<Shown> shown_of(const answer::Info& info, answer::Cell cell);
std::optional<Shown> shown_of(const answer::Series& series, size_t row);
/// Return the number; 0 for a text.
double number_of(const Shown& value);
/// Format a value with the unit; `sign`: "+" before positive numbers.
std::string show(const Shown& value, bool sign = false);
/// Append a value without a unit or rounding; append no text if the cell is missing or is a number that is not finite.
void append_exactly(std::string& out, const answer::Series& series, size_t row);
/// Alignment: texts at the left of the column, numbers at the right.
inline bool is_number(const Shown& value) {
  return !std::holds_alternative<std::string>(value.cell) && !std::holds_alternative<bool>(value.cell);
}

/// Rows of a table; empty if the answer does not have the table.
struct Rows {
  const answer::Table* table = nullptr;
  size_t begin = 0, end = 0;
};

/// Scope of key lookup: a row of a table, then the values of the answer; keys with the prefix first.
struct Scope {
  const answer::Answer& answer;
  std::string_view subject = {};
  std::string_view prefix = {};
  const answer::Table* table = nullptr;
  size_t row = 0;
  int64_t count = 1;  ///< number of rows folded into this row

  std::optional<Shown> find(std::string_view key) const;
  /// Return the rows of a table nested in this row, else of a table of the answer.
  Rows rows_of(std::string_view key) const;
  /// Return the text for a reference (the text between the braces of a template).
  std::optional<std::string> text(std::string_view reference) const;
  std::optional<std::string> fill(std::string_view of_template) const;
};

/// Return the column "table.column" of an answer, or null.
const answer::Series* column_of(const answer::Answer& answer, std::string_view key);

}  // namespace chakra::view
