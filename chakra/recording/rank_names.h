// What the names of files, and what their records, say of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::recording {

/// The place in a grid of ranks that SGLang writes into names: "1719-TP-1-DP-0-PP-2-EP-0.trace.json.gz".
struct GridPlace {
  int64_t tp = 0, pp = 0;
};
std::optional<GridPlace> grid_place(std::string_view name);

/// What the records of communication in a file say.
struct RecordedRanks {
  std::optional<int64_t> rank;  ///< "Rank", where all records agree: also of a root, so it must differ among files
  std::set<int64_t> world;      ///< of all "Process Group Ranks"; up to the largest "Group size"
};
/// Looks at the text alone. Errors: those of ByteSource. Cost: O(file).
Result<RecordedRanks> recorded_ranks(const std::string& path);

}  // namespace chakra::recording
