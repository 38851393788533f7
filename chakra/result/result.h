// Results: a Timeline (slices over time), and a Table (named columns with units), which becomes a table of an answer.
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
  /// A value of a rank over time: `values[i]` from `at_ps[i]` on. Times ascend and differ.
  struct Counter {
    int64_t rank = 0;
    std::string name, unit;  ///< "waiting on stream 7", "operations"
    std::vector<Picoseconds> at_ps;
    std::vector<int64_t> values;
  };
  StringPool strings;
  std::vector<Track> tracks;
  std::vector<Slice> slices;
  std::vector<Flow> flows;
  std::vector<Counter> counters;
};

struct Table {
  /// `id`: an identifier; `plain`: an unformatted whole number; `real`: any other number, with two decimals.
  enum class Kind : uint8_t {
    text,
    count,
    bytes,
    time_ps,
    rate_bytes_per_s,
    share,
    id,
    plain,
    real,
    rate_ops_per_s,
    ops,
    ops_per_byte
  };
  using Cell = std::variant<std::string, int64_t, double>;
  struct Column {
    // These texts live as long as the program.
    std::string_view name;  ///< for people
    Kind kind = Kind::text;
    std::string_view key = {}, meaning = {};          ///< for programs, of times with _ps
    answer::Missing missing = answer::Missing::null;  ///< meaning of a text among numbers; null: of ""
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< as many cells as columns
};

/// A table with a name.
struct NamedTable {
  std::string name;  ///< [a-z_]+, the key in results
  Table table;
  bool detail = false;  ///< too long for texts
};

/// Add the columns with keys as a table of an answer; `meaning`: default is the title. Cost: O(cells).
/// Requires cells of the kind of the column, or the text of `missing`.
void add_table(answer::Builder& to, std::string key, const Table& table, bool present = true,
               std::string_view meaning = {}, bool detail = false);
/// Add a table for each entry of `schema`, with the rows of the same name in `made`; a table without such rows is
/// absent. Keys begin with `prefix`.
void add_tables(answer::Builder& to, const std::string& prefix, const std::vector<NamedTable>& schema,
                const std::vector<NamedTable>& made);

}  // namespace chakra::result
