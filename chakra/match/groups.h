// The members of a group: from the caller's table, else the traces' records, else the group's name. Inside match.
#pragma once

#include <string>

#include "chakra/match/agreement.h"

namespace chakra::match {

/// Find a group that nodes name. Group::known is false if the members
/// are unknown; `undescribed` is set if also the size is unknown.
Group find_group(const trace::TraceSet& job, const GroupTable& table, const std::string& name, bool& undescribed);

/// Report match.group.members: ranks that record different members for one group.
void check_recorded_groups(const trace::TraceSet& job, const GroupTable& table, Agreement& agreement);

}  // namespace chakra::match
