// The back end that sends nothing: partners meet at the server of the rendezvous, and the operation then takes as long
// as the member for which it took the shortest time, who came last and waited for nobody.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

#include "chakra/replay/backend.h"
#include "chakra/replay/backends.h"
#include "chakra/replay/meetings.h"

namespace chakra::replay {

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
      ended_.push_back({Clock::now(), ticket});
      return rendezvous_.meet(meeting_key(op, rank_), 2, bring(op, common_bytes(op)), false);
    }
    if (op.kind == Operation::Kind::collective && op.members.size() == 1) {
      end_after(Clock::now(), op.recorded_ps, ticket);
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
      ended_.push_back(ends_.top());
    given_.clear();
    for (const auto& [time, ticket] : ended_) {
      ended.push_back(ticket);
      given_[ticket] = time;
    }
    ended_.clear();
    return {};
  }

  std::optional<Clock::time_point> ended_at(Ticket ticket) const override {
    const auto found = given_.find(ticket);
    return found == given_.end() ? std::nullopt : std::optional(found->second);
  }
  MeetingTimes meeting_times() const override { return meeting_times_; }

  Result<void> close() override { return {}; }
  void abort(std::string_view) override {}

 private:
  using End = std::pair<Clock::time_point, Ticket>;

  /// All have come: by now this rank knows it, and the operation's time runs since the last one came.
  Result<void> begin(const Met& met) {
    CHAKRA_ASSIGN(const Meetings::Complete found, meetings_.complete(met));
    const Clock::time_point now = Clock::now(), came = std::min(now, found.brought.last_came.value_or(now));
    const Clock::time_point end = end_after(came, found.brought.least_ps, found.ticket);
    const auto ps = [](Clock::duration time) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count() * kPsPerNs;
    };
    ++meeting_times_.count;
    meeting_times_.unknown += !found.brought.last_came;
    meeting_times_.total_ps = add_saturated(meeting_times_.total_ps, ps(now - came));
    if (end >= now) return {};
    ++meeting_times_.over;
    meeting_times_.over_ps = add_saturated(meeting_times_.over_ps, ps(now - end));
    return {};
  }

  Clock::time_point end_after(Clock::time_point begin, Picoseconds recorded, Ticket ticket) {
    const double ns = std::max<double>(0, scale_ * static_cast<double>(recorded) / static_cast<double>(kPsPerNs));
    const Clock::time_point end = begin + std::chrono::nanoseconds(static_cast<int64_t>(std::min(ns, 1e18)));
    ends_.emplace(end, ticket);
    return end;
  }

  int64_t rank_;
  Rendezvous& rendezvous_;
  double scale_;
  Meetings meetings_{rank_, rendezvous_};
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<End> ended_;
  std::map<Ticket, Clock::time_point> given_;  ///< of the last progress()
  MeetingTimes meeting_times_;
  std::vector<Met> met_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_null(const World& world, Rendezvous& rendezvous, const Settings& settings) {
  double scale = 1;
  if (const auto given = settings.find("scale");
      given != settings.end() && !(parse_decimal(given->second, scale) && scale >= 0))
    return fail(Code::usage, "cli.usage",
                fmt::format("--backend-option scale={}: expected a number of at least 0", given->second));
  return std::make_unique<NullSession>(world, rendezvous, scale);
}

}  // namespace chakra::replay
