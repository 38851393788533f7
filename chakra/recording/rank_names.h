// Ranks in the names of files, and in their records.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::recording {

/// The position in a grid of ranks, from SGLang's file names: "1719-TP-1-DP-0-PP-2-EP-0.trace.json.gz".
struct GridPlace {
  int64_t tp = 0, pp = 0;
};
std::optional<GridPlace> grid_place(std::string_view name);

/// The ranks in the communication records of a file.
struct RecordedRanks {
  std::optional<int64_t> rank;     ///< "Rank", if all records agree: can be a root's, so must differ among files
  std::set<int64_t> world;         ///< of all "Process Group Ranks"; up to the largest "Group size"
  bool has_communication = false;  ///< an operator or kernel communicates, or "world_size" exceeds 1
  /// Whether the process communicates with others. A group of one rank connects nothing.
  bool has_others() const { return world.empty() ? has_communication : world.size() > 1; }
};
/// Scan the text without parsing. Errors: those of ByteSource. Cost: O(file).
Result<RecordedRanks> recorded_ranks(const std::string& path);

}  // namespace chakra::recording
