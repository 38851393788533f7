// Ranks of one program differ in few values: in the names of their groups, in their peers. If each value of a column
// of the master always stands where one value of the rank stands, the pairs of values replace the rank's column.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/pack/columns.h"

namespace chakra::pack {

/// Pairs of values of a column. A value is bytes: of a text, the varint of the entry, then of each number;
/// of an integer, the varint of its zigzag.
struct ColumnPairs {
  uint32_t column = 0;  ///< the entry of the column's stream 0
  std::vector<std::pair<std::string, std::string>> pairs;
};

/// Return the columns of `differing` (ids, ascending) whose values in `master` determine the values in `own`, with the
/// pairs of different values. Remove all streams of these columns from `differing`. Cost: O(values of these columns).
std::vector<ColumnPairs> substitute(const std::vector<Group>& own, const std::vector<Group>& master,
                                    const Dictionary& dictionary, std::vector<uint64_t>& differing);
std::string encode(const std::vector<ColumnPairs>& columns);

/// A value of a rank or of its master.
struct Replacement {
  std::string text;
  uint64_t integer = 0;
  std::string bytes;  ///< as in ColumnPairs
};
/// Of one column.
struct Replacements {
  absl::flat_hash_map<std::string, Replacement> values;  ///< by the bytes of the master's value
  const Replacement* find(const std::string& value) const {
    const auto found = values.find(value);
    return found == values.end() ? nullptr : &found->second;
  }
};

/// Call visit(entry, from, to) for each pair of values, `entry` being that of the column.
/// Errors: io.container.damaged without a place, those of `entry_of`.
using VisitPair = std::function<void(std::string_view entry, const Replacement& from, const Replacement& to)>;
Result<void> for_each_pair(std::string_view bytes, const EntryOf& entry_of, const VisitPair& visit);

/// The replaced values of a rank, by column.
class Substitutions {
 public:
  /// Errors: io.container.damaged without a place, those of `entry_of`. Memory: the bytes, and the texts.
  static Result<Substitutions> parse(std::string_view bytes, const EntryOf& entry_of);
  /// Return the replacements of the column of an entry; null if its values stay.
  const Replacements* of(uint32_t column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? nullptr : found->second.get();
  }

 private:
  absl::flat_hash_map<uint32_t, std::unique_ptr<Replacements>> columns_;
};

}  // namespace chakra::pack
