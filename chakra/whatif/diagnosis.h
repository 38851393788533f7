// The diagnosis of a simulated job: where the time of the run goes, and how to save it, in the form of the diagnosis of
// measured jobs (chakra/analyze/diagnosis.h). A rule looks for a suspect in the report of the run, and simulates the
// job again without the suspect. The cost is the difference of the two runs, so it is exact by the rules of the
// simulation. Causes that no second run can remove have an estimate, which the formula of the rule states.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/sim/sim.h"

namespace chakra::whatif {

/// A run to diagnose. Requires the input of the report's run (copy_of), with the contention model of the run.
struct DiagnosedRun {
  const sim::SimInput& input;
  const sim::SimReport& report;
  Picoseconds links = 0;  ///< found by rules about links: no other rule must count this time
  std::map<std::pair<std::string, std::string>, Picoseconds> by_group = {};  ///< found by type and group
};

struct RunRule {
  std::string_view kind;
  /// An error that is not an interruption means that the rule cannot judge.
  Result<analyze::Judgement> (*judge)(DiagnosedRun& run);
  std::string_view formula;
};
/// All rules, in the order of evaluation.
extern const std::span<const RunRule> kRunRules;

inline constexpr uint64_t kMostRepeatedEvents = 10'000'000;  ///< longer runs are not simulated again

/// Diagnose a run. Errors: sim.interrupted. Cost: O(ranks + links), and a simulation for each suspect (most rules: one;
/// small messages: two), at most ten.
Result<analyze::Diagnoses> diagnose(sim::SimInput input, const sim::SimReport& report);

}  // namespace chakra::whatif
