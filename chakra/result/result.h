// What comes out: a Timeline (what ran when), a Table (named columns with units) and a Report (what people read of an
// answer). Code that computes something fills one of them; code that shows something reads one of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/answer/answer.h"  // IWYU pragma: export
#include "chakra/base/base.h"

namespace chakra::result {

/// Slices on tracks; a track belongs to a rank. Times in picoseconds from the timeline's zero.
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
    uint64_t node = 0;  ///< id in the rank's trace
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
  /// `id`: a number that names something; `plain`, `real`: a whole number as it is, another one with two decimals.
  enum class Kind : uint8_t { text, count, bytes, time_ps, rate_bytes_per_s, share, id, plain, real, rate_ops_per_s };
  using Cell = std::variant<std::string, int64_t, double>;
  struct Column {
    std::string name;  ///< for people
    Kind kind = Kind::text;
    std::string_view key = {}, meaning = {};  ///< for programs, of times with _ps; they live as long as the program
    answer::Missing missing = answer::Missing::null;  ///< what a text among numbers means
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< as many cells as columns
};

/// A cell as people read it, with its unit.
std::string show(const Table::Cell& cell, Table::Kind kind);

/// A table that programs read, under a name of its own.
struct NamedTable {
  std::string name;  ///< [a-z_]+, the key in results
  Table table;
  bool detail = false;  ///< too much for people: for JSON and CSV
};

/// What people read of an answer, from top to bottom. view::to_text() writes it.
struct Report {
  struct Fact {
    std::string label;  ///< "" where it belongs to the fact before it
    std::string text;
  };
  /// The first rows of a table, and how many there are beside them.
  struct Rows {
    Table table;
    size_t more = 0;
    std::string_view of = {};  ///< what the rows are: "ranks"; lives as long as the program
  };
  struct Found {
    Findings findings;
    bool indented = true;
  };
  using Part = std::variant<std::string, Fact, Rows, Found>;  ///< a string is whole lines, each with its end
  std::vector<Part> parts;
};
/// At most that many rows. Cost: O(cells of these rows).
Report::Rows first_rows(const Table& table, size_t most, std::string_view of);

/// The columns that have a key, as a table of an answer; `meaning`: the title where it is empty. Cost: O(cells).
/// Requires: cells of the column's kind, or the text that its `missing` stands for.
void add_table(answer::Builder& to, std::string key, const Table& table, bool present = true,
               std::string_view meaning = {});

}  // namespace chakra::result
