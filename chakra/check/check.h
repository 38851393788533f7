// Rules for a trace, or for all traces of a job. A rule inspects and reports, without changes.
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
  /// Exactly one is set: a rule for one rank, or for the communication across ranks.
  void (*of_rank)(const trace::Trace& trace, LimitedFindings& findings);
  void (*of_job)(const trace::TraceSet& job, const match::Matching& matching, Findings& findings);
};
extern const std::span<const RuleRow> kRules;

/// Apply all rules. At most `limit` findings per tag and rank are listed; an additional finding then has the number of
/// findings. Errors first; with equal severity, in the order of the rules. Cost: O(nodes + edges), and that of match.
Findings check(const trace::TraceSet& job, const match::GroupTable& groups = {}, size_t limit = 20);

/// Apply only the rules for the whole job: collectives and messages match, waits refer to earlier requests, and no node
/// waits for itself, directly or indirectly. docs/explanation/checking.md describes the proof. For code that runs the
/// job next. Cost: O(nodes + edges + communication).
Findings prove(const trace::TraceSet& job, const match::Matching& matching);

/// Return true if a finding is an error.
bool any_error(const Findings& findings);

}  // namespace chakra::check
