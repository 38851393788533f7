#include "chakra/replay/meetings.h"

namespace chakra::replay {

Result<void> Meetings::come(const Operation& op, Ticket ticket, uint64_t bytes) {
  const std::string key = meeting_key(op, rank_);
  const bool is_new = open_.emplace(key, std::pair(op, ticket)).second;
  CHAKRA_ASSERT(is_new);
  const bool is_collective = op.kind == Operation::Kind::collective;
  return rendezvous_.meet(key, is_collective ? static_cast<uint32_t>(op.members.size()) : 2, bring(op, bytes));
}

Result<Meetings::Complete> Meetings::complete(const Met& met) {
  const auto at = open_.find(met.key);
  CHAKRA_ASSERT(at != open_.end());
  Complete found{std::move(at->second.first), at->second.second};
  open_.erase(at);
  CHAKRA_ASSIGN(found.least_ps, compare_brought(met, describe(found.operation)));
  return found;
}

}  // namespace chakra::replay
