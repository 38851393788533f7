// Steps of linking that `chakra link` takes in one process, and a fleet in several.
#pragma once

#include <optional>
#include <string>

#include "chakra/linking/link.h"

namespace chakra::linking {

/// Report the options that had no effect on a rank of PyTorch.
void note_options(link::Linked& linked, const link::LinkOptions& options);
/// Take the report of a linked rank.
LinkedRank linked_rank(const recording::RankInput& input, link::Linked& linked);
/// Self-check a rank, if its trace has times. Errors: as for analyze::self_replay.
Result<void> self_check(LinkedRank& rank, const trace::Trace& trace);
/// Return the part that the comparison of the ranks needs. Cost: O(nodes).
recorded::RankFacts facts_of(const trace::Trace& trace, const link::LinkingReport& report);
/// Return the path of a rank's trace in a folder.
std::string trace_in(const std::string& folder, int64_t rank);
/// Run the self-check of a job of several ranks with its completed traces, and judge all self-checks.
void self_check(LinkedJob& job, trace::TraceSet&& traces, std::optional<double> max_error);

}  // namespace chakra::linking
