// The back end that sends nothing: partners meet at the server of the rendezvous, and the operation then takes as long
// as the member for which it took the shortest time, who came last and waited for nobody.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "chakra/replay/backend.h"
#include "chakra/replay/parties.h"

namespace chakra::replay {

Result<std::unique_ptr<Session>> open_null(const World& world, Rendezvous& rendezvous, const Settings& settings);

namespace {

using Clock = std::chrono::steady_clock;
using trace::CommType;

/// Bytes that all members of a collective must agree on; 0 where theirs may differ.
uint64_t common_bytes(const Operation& op) {
  switch (op.type) {
    case CommType::all_reduce:
    case CommType::reduce:
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block: return op.in_bytes;
    case CommType::broadcast: return std::max(op.in_bytes, op.out_bytes);
    default: return 0;
  }
}

class NullSession : public Session {
 public:
  NullSession(const World& world, Rendezvous& rendezvous, double scale)
      : rank_(world.rank), rendezvous_(rendezvous), scale_(scale) {}

  Result<void> start(const Operation& op, Ticket ticket) override {
    if (op.kind == Operation::Kind::send) {
      ended_.push_back(ticket);
      return rendezvous_.meet(meeting_key(op, rank_), 2, brought(op), false);
    }
    const bool receives = op.kind == Operation::Kind::receive;
    if (!receives && op.members.size() == 1) {
      end_after(op.recorded_ps, ticket);
      return {};
    }
    const std::string key = meeting_key(op, rank_);
    CHAKRA_ASSERT(open_.emplace(key, Open{ticket, describe(op)}).second);
    return rendezvous_.meet(key, receives ? 2 : static_cast<uint32_t>(op.members.size()), brought(op));
  }

  Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ticket>& ended) override {
    if (!ended_.empty()) patience = {};
    if (!ends_.empty()) patience = std::clamp<std::chrono::nanoseconds>(ends_.top().first - Clock::now(), {}, patience);
    met_.clear();
    CHAKRA_TRY(rendezvous_.poll(patience, met_));
    for (const Met& met : met_) CHAKRA_TRY(begin(met));
    for (const auto now = Clock::now(); !ends_.empty() && ends_.top().first <= now; ends_.pop())
      ended_.push_back(ends_.top().second);
    ended.insert(ended.end(), ended_.begin(), ended_.end());
    ended_.clear();
    return {};
  }

  Result<void> close() override { return {}; }
  void abort(std::string_view) override {}

 private:
  struct Open {
    Ticket ticket;
    std::string described;
  };
  using End = std::pair<Clock::time_point, Ticket>;

  static std::string brought(const Operation& op) {
    return bring(op, op.kind == Operation::Kind::collective ? common_bytes(op) : std::max(op.in_bytes, op.out_bytes));
  }

  /// All have come.
  Result<void> begin(const Met& met) {
    const auto open = open_.find(met.key);
    CHAKRA_ASSERT(open != open_.end());
    CHAKRA_ASSIGN(const Picoseconds least, compare_brought(met, open->second.described));
    end_after(least, open->second.ticket);
    open_.erase(open);
    return {};
  }

  void end_after(Picoseconds recorded, Ticket ticket) {
    const double ns = std::max<double>(0, scale_ * static_cast<double>(recorded) / static_cast<double>(kPsPerNs));
    ends_.emplace(Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(std::min(ns, 1e18))), ticket);
  }

  int64_t rank_;
  Rendezvous& rendezvous_;
  double scale_;
  absl::flat_hash_map<std::string, Open> open_;  ///< by key of the meeting
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Ticket> ended_;
  std::vector<Met> met_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_null(const World& world, Rendezvous& rendezvous, const Settings& settings) {
  double scale = 1;
  if (const auto given = settings.find("scale");
      given != settings.end() && !(parse_decimal(given->second, scale) && scale >= 0))
    return fail(Code::usage, "cli.usage",
                fmt::format("--backend-option scale={}: a number from 0 on is expected", given->second));
  return std::make_unique<NullSession>(world, rendezvous, scale);
}

}  // namespace chakra::replay
