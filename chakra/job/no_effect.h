// Options that changed nothing, or only a part of what they are for: the result says so (sim.option.no_effect). One
// row per option: when it is given, and why it had no effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/job/simulate.h"
#include "chakra/link/link.h"
#include "chakra/match/match.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

/// "--congestion fluid has no effect: nothing communicates".
Finding no_effect(std::string_view option, std::string_view why);
/// "--device H100-SXM has no effect on a part: 2.50 % of the device time is unchanged: ..."
Finding partial_effect(std::string_view option, std::string_view why);

/// Why --device has no effect where nothing is scaled.
inline constexpr std::string_view kNoDeviceTime =
    "no rank has computation off the CPU that was measured or says its work";

/// What a job has, as far as an option needs it. The job is gone once it is simulated.
struct JobFacts {
  std::vector<int64_t> ranks;        ///< ascending
  std::vector<std::string> unnamed;  ///< groups of --groups that nothing of the job names
  size_t groups_given = 0;
  bool collectives = false, messages = false, memory = false;  ///< nodes of the kind
  bool classes = false;                                        ///< by classes of ranks
  bool tiers = false;                                          ///< nodes name tiers of storage
  bool unrecorded = false;                                     ///< device work that was not recorded
  int64_t copies = -1;                                         ///< by --expand
  device::System system;
  coll::Selection rules;
};
/// `groups` as the file has them; `findings` of expand_job(). O(communication nodes + ranks).
JobFacts facts_of(const sim::SimInput& input, const match::GroupTable& groups, const Findings& findings);

/// One finding for each option that had no effect, or only a part.
Findings options_without_effect(const SimulateOptions& asked, const JobFacts& job, const sim::SimReport& report);

/// The same for --groups of other commands: nothing, or one finding.
Findings groups_without_effect(const match::GroupTable& groups, const std::vector<trace::Trace>& traces);
/// The same for 'chakra link', of one rank.
Findings link_options_without_effect(const link::LinkOptions& options, const link::LinkingReport& report);

}  // namespace chakra::job
