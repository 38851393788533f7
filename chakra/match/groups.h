// The members of a group: from the caller's table, else the traces' records, else the group's name. Inside match.
#pragma once

#include <set>
#include <string>

#include "chakra/match/agreement.h"

namespace chakra::match {

/// Find a group that nodes name. Group::known is false if the members
/// are unknown; `undescribed` is set if also the size is unknown.
Group find_group(const trace::TraceSet& job, const GroupTable& table, const std::string& name, bool& undescribed);

/// Report recorded groups that ranks describe differently, or with a member twice. Result: the names of groups for
/// which ranks record different members.
std::set<std::string> check_recorded_groups(const trace::TraceSet& job, const GroupTable& table, Agreement& agreement);

}  // namespace chakra::match
