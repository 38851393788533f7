// Values of an answer as people read them, and where templates find them (show.h). Private.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"

namespace chakra::view {

struct Shown {
  answer::Type type = answer::Type::text;
  answer::Unit unit = answer::Unit::none;
  answer::Cell cell;  ///< never missing
};

/// Nothing where the cell is missing, or is a number that is not finite.
std::optional<Shown> shown_of(const answer::Info& info, answer::Cell cell);
std::optional<Shown> shown_of(const answer::Series& series, size_t row);
/// 0 of a text.
double number_of(const Shown& value);
/// With its unit; `sign`: "+" before what is more than nothing.
std::string show(const Shown& value, bool sign = false);
/// Without a unit or rounding; nothing where the cell is missing, or is a number that is not finite.
void append_exactly(std::string& out, const answer::Series& series, size_t row);
/// What the type is shown at: texts at the left of their column, numbers at the right.
inline bool is_number(const Shown& value) {
  return !std::holds_alternative<std::string>(value.cell) && !std::holds_alternative<bool>(value.cell);
}

/// Texts in aligned columns. Those of more than `widest` bytes are cut, and those with control characters quoted: CSV
/// and JSON have them whole.
struct Grid {
  struct Column {
    std::string heading;
    bool left = false;  ///< texts stand at the left
  };
  std::string title = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};  ///< as many cells as columns
};
std::string to_text(const Grid& grid, size_t widest = 60);

/// Rows of a table; none where the answer does not have it.
struct Rows {
  const answer::Table* table = nullptr;
  size_t begin = 0, end = 0;
};

/// Where keys are looked up: in a row of a table, in the rows that it belongs to, then among the values; in those with
/// a prefix first.
struct Scope {
  const answer::Answer& answer;
  std::string_view subject = {};
  std::string_view prefix = {};
  const answer::Table* table = nullptr;
  size_t row = 0;
  int64_t count = 1;  ///< rows that this one stands for

  std::optional<Shown> find(std::string_view key) const;
  /// Of a table that belongs to this row, else of one of the answer.
  Rows rows_of(std::string_view key) const;
  /// Of what stands between the braces of a template.
  std::optional<std::string> text(std::string_view reference) const;
  std::optional<std::string> fill(std::string_view of_template) const;
};

/// The column "table.column" of an answer; null where there is none.
const answer::Series* column_of(const answer::Answer& answer, std::string_view key);

}  // namespace chakra::view
