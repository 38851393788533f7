// Report options without effect, or with a partial effect (sim.option.no_effect). One row per option: the test whether
// the option is given, and the reason for a missing effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/job/simulate.h"
#include "chakra/match/match.h"
#include "chakra/options/options.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

using options::no_effect;
using options::partial_effect;

/// Reason why --device has no effect if no time is scaled.
inline constexpr std::string_view kNoDeviceTime = "no rank has device computation with a measured time or known work";

/// Facts of a job that options need, because the job is gone after the simulation.
struct JobFacts {
  std::vector<int64_t> ranks;        ///< ascending
  std::vector<std::string> unnamed;  ///< groups of --groups that the job does not use
  size_t groups_given = 0;
  bool collectives = false, messages = false, memory = false;  ///< the job has such nodes
  bool classes = false;                                        ///< a job by classes of ranks
  bool serves = false;                                         ///< a generated job with times of serving under load
  bool tiers = false;                                          ///< nodes name tiers of storage
  bool unrecorded = false;                                     ///< device work that was not recorded
  int64_t copies = -1;                                         ///< made by --expand
  device::System system;
  coll::Selection rules;
};
/// `groups`: as in the file; `findings`: from expand_job(). O(communication nodes + ranks).
JobFacts facts_of(const sim::SimInput& input, const match::GroupTable& groups, const Findings& findings);

/// Return one finding for each option without effect, or with a partial effect.
Findings options_without_effect(const SimulateOptions& asked, const JobFacts& job, const sim::SimReport& report);

/// Return a finding if --groups of another command has no effect.
Findings groups_without_effect(const match::GroupTable& groups, const std::vector<trace::Trace>& traces);

}  // namespace chakra::job
