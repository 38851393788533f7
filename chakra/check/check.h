// Rules that a trace, or all traces of a job, must keep. A rule looks and reports; it changes nothing.
#pragma once

#include <span>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/trace/trace.h"

namespace chakra::check {

struct RuleRow {
  std::string_view name;
  std::string_view description;
  /// One of the two is set: a rule about one rank, or about the ranks' communication together.
  void (*of_rank)(const trace::Trace& trace, LimitedFindings& findings);
  void (*of_job)(const trace::TraceSet& job, const match::Matching& matching, Findings& findings);
};
extern const std::span<const RuleRow> kRules;

/// Applies all rules. At most `limit` findings per tag and rank are listed; one more then says how many there are.
/// Errors first; of equal severity, in the order of the rules. Cost: O(nodes + edges), and that of match.
Findings check(const trace::TraceSet& job, const match::GroupTable& groups = {}, size_t limit = 20);

/// The rules about the whole job alone: collectives and messages fit together, waits refer to earlier requests, nothing
/// waits for itself, alone or through others. docs/explanation/checking.md says what that proves. For code that runs
/// the job next. Cost: O(nodes + edges + communication).
Findings prove(const trace::TraceSet& job, const match::Matching& matching);

/// Whether a finding is an error.
bool any_error(const Findings& findings);

}  // namespace chakra::check
