// Functions of the rows of kRules, one file each.
#pragma once

#include "chakra/check/check.h"

namespace chakra::check {

using RuleOfJob = void(const trace::TraceSet& job, const match::Matching& matching, Findings& findings);
RuleOfJob waits_refer_back, no_deadlock;

}  // namespace chakra::check
