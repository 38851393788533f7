// Hides the ranks of a job side by side. Inside share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/edit/edit.h"
#include "chakra/io/io.h"
#include "chakra/share/fewer_layers.h"
#include "chakra/share/fewer_stages.h"
#include "chakra/share/obfuscate.h"

namespace chakra::share {

/// How all ranks are hidden, or revealed. References to parts of the call.
struct RankHiding {
  const ObfuscateOptions& options;
  const edit::Hiding& names;
  const edit::HiddenMap& revealed;
  const edit::SizeHiding& sizes;
  const FewerLayers& layers;
  const FewerStages& stages;
};

/// What hiding all ranks made.
struct HiddenRanks {
  edit::Hidden names;
  edit::HiddenSizes sizes;
  edit::HiddenStages stages;
  std::vector<FewerLayers::OfRank> layers;       ///< by file, at level 3
  std::vector<std::optional<AtomicFile>> files;  ///< not committed
  std::set<std::string> outputs;                 ///< the names of these files
  int64_t nodes = 0;
};

/// Errors: job.obfuscate.again, .plain, .names.
Result<void> check_mark(const trace::Trace& trace, const ObfuscateOptions& options, std::string_view mark);

/// Hide each rank, and write it. `kept`: traces that were read already, by rank; they are used up. Each core holds one
/// rank. Errors: those of check_mark(), of reading and of the passes; base.file.*.
Result<HiddenRanks> hide_ranks(const std::vector<io::RankFile>& files, const RankHiding& by,
                               std::map<int64_t, std::optional<trace::Trace>>& kept);

}  // namespace chakra::share
