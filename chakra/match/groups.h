// Who is in a group: what the caller says, else what the traces record, else what its name stands for. Inside match.
#pragma once

#include <string>

#include "chakra/match/agreement.h"

namespace chakra::match {

/// A group that nodes name. Group::known is false where its members are not known; `undescribed` is set where its size
/// is not known either.
Group find_group(const trace::TraceSet& job, const GroupTable& table, const std::string& name, bool& undescribed);

/// match.group.members: ranks that record different members for one group.
void check_recorded_groups(const trace::TraceSet& job, const GroupTable& table, Agreement& agreement);

}  // namespace chakra::match
