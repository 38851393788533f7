// Results: a Timeline (slices over time), a Table (named columns with units) and a Report (the text of an answer for
// people). Code that computes fills a result; code that displays reads a result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/answer/answer.h"  // IWYU pragma: export
#include "chakra/base/base.h"

namespace chakra::result {

/// Slices on tracks; a track belongs to a rank. Times in picoseconds from the zero of the timeline.
struct Timeline {
  struct Track {
    int64_t rank = 0;
    std::string name;  ///< "thread 3235", "stream 7", "collectives of group 0"
  };
  struct Slice {
    uint32_t track = 0;
    StringId name = 0;
    StringId category = 0;
    Picoseconds start_ps = 0, end_ps = 0;
    uint64_t node = 0;  ///< id in the trace of the rank
  };
  /// An arrow from inside one slice to inside another.
  struct Flow {
    uint32_t from = 0, to = 0;  ///< slices
    StringId name = 0;
  };
  StringPool strings;
  std::vector<Track> tracks;
  std::vector<Slice> slices;
  std::vector<Flow> flows;
};

struct Table {
  /// `id`: an identifier; `plain`: an unformatted whole number; `real`: any other number, with two decimals.
  enum class Kind : uint8_t { text, count, bytes, time_ps, rate_bytes_per_s, share, id, plain, real, rate_ops_per_s };
  using Cell = std::variant<std::string, int64_t, double>;
  struct Column {
    std::string name;  ///< for people
    Kind kind = Kind::text;
    std::string_view key = {}, meaning = {};  ///< for programs, times with _ps; valid for the lifetime of the program
    answer::Missing missing = answer::Missing::null;  ///< meaning of a text among numbers
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< as many cells as columns
};

/// Return the text of a cell for people, with the unit.
std::string show(const Table::Cell& cell, Table::Kind kind);

/// A table for programs, with a name.
struct NamedTable {
  std::string name;  ///< [a-z_]+, the key in results
  Table table;
  bool detail = false;  ///< too long for the text: only in JSON and CSV
};

/// The text of an answer for people, from top to bottom; view::to_text() writes a report.
struct Report {
  struct Fact {
    std::string label;  ///< "" if the text continues the previous fact
    std::string text;
  };
  /// The first rows of a table, and the number of other rows.
  struct Rows {
    Table table;
    size_t more = 0;
    std::string_view of = {};  ///< noun for the rows: "ranks"; static lifetime
  };
  struct Found {
    Findings findings;
    bool indented = true;
  };
  using Part = std::variant<std::string, Fact, Rows, Found>;  ///< a string has whole lines, with line ends
  std::vector<Part> parts;
};
/// Return at most `most` rows. Cost: O(cells of the returned rows).
Report::Rows first_rows(const Table& table, size_t most, std::string_view of);

/// Add the columns with keys as a table of an answer; `meaning`: default is the title. Cost: O(cells).
/// Requires cells of the kind of the column, or the text of `missing`.
void add_table(answer::Builder& to, std::string key, const Table& table, bool present = true,
               std::string_view meaning = {});

}  // namespace chakra::result
