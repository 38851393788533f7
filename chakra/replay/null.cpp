// The back end that sends nothing: partners meet at the server of the rendezvous, and the operation then takes as long
// as the member for which it took the shortest time, who came last and waited for nobody.
#include <fmt/core.h>

#include <algorithm>
#include <queue>

#include "chakra/replay/backend.h"
#include "chakra/replay/meetings.h"

namespace chakra::replay {

Result<std::unique_ptr<Session>> open_null(const World& world, Rendezvous& rendezvous, const Settings& settings);

namespace {

using Clock = std::chrono::steady_clock;
using trace::CommType;

/// Bytes that all who take part must agree on; 0 where theirs may differ.
uint64_t common_bytes(const Operation& op) {
  if (op.kind != Operation::Kind::collective) return std::max(op.in_bytes, op.out_bytes);
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
      return rendezvous_.meet(meeting_key(op, rank_), 2, bring(op, common_bytes(op)), false);
    }
    if (op.kind == Operation::Kind::collective && op.members.size() == 1) {
      end_after(op.recorded_ps, ticket);
      return {};
    }
    return meetings_.come(op, ticket, common_bytes(op));
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
  using End = std::pair<Clock::time_point, Ticket>;

  /// All have come.
  Result<void> begin(const Met& met) {
    CHAKRA_ASSIGN(const Meetings::Complete found, meetings_.complete(met));
    end_after(found.least_ps, found.ticket);
    return {};
  }

  void end_after(Picoseconds recorded, Ticket ticket) {
    const double ns = std::max<double>(0, scale_ * static_cast<double>(recorded) / static_cast<double>(kPsPerNs));
    ends_.emplace(Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(std::min(ns, 1e18))), ticket);
  }

  int64_t rank_;
  Rendezvous& rendezvous_;
  double scale_;
  Meetings meetings_{rank_, rendezvous_};
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
