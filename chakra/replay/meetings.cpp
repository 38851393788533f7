#include "chakra/replay/meetings.h"

namespace chakra::replay {

Result<void> Meetings::come(const Operation& op, Ticket ticket, uint64_t bytes) {
  const std::string key = meeting_key(op, rank_);
  const bool is_new = open_.emplace(key, Waiting{op, ticket}).second;
  CHAKRA_ASSERT(is_new);
  const bool is_collective = op.kind == Operation::Kind::collective;
  return rendezvous_.meet(key, is_collective ? static_cast<uint32_t>(op.members.size()) : 2, bring(op, bytes));
}

Result<Meetings::Complete> Meetings::complete(const Met& met) {
  const auto at = open_.find(met.key);
  CHAKRA_ASSERT(at != open_.end());
  Waiting& waiting = at->second;
  Complete found{std::move(waiting.operation), waiting.ticket, {}, waiting.told, std::move(waiting.kept)};
  kept_ -= found.told;
  open_.erase(at);
  CHAKRA_ASSIGN(found.brought, compare_brought(met, describe(found.operation)));
  return found;
}

void Meetings::end_old_sends(std::chrono::nanoseconds patience, std::vector<Ticket>& ended) {
  const auto now = std::chrono::steady_clock::now();
  for (auto& [key, waiting] : open_) {
    Operation& op = waiting.operation;
    if (op.kind != Operation::Kind::send || waiting.told || now - waiting.since <= patience) continue;
    waiting.kept.assign(op.in.begin(), op.in.end());
    op.in = waiting.kept;
    waiting.told = true;
    ++kept_;
    ended.push_back(waiting.ticket);
  }
}

}  // namespace chakra::replay
