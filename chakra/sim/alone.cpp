#include "chakra/sim/alone.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace chakra::sim {
namespace {

/// Candidates whose price is at most this many times the least price are run: prices may be 41 % too low.
constexpr double kNear = 1.7;

}  // namespace

uint64_t transfers_of(const coll::Plan& plan) {
  uint64_t count = 0;
  for (const coll::Round& round : plan.rounds)
    count += !round.list.empty() ? round.list.size() : round.shift == 0 ? 0 : uint64_t{round.shifts} * plan.members;
  return count;
}

Picoseconds time_alone(const net::Fabric& fabric, Congestion congestion, const coll::Plan& plan,
                       std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
                       std::span<const Picoseconds> arrivals) {
  CHAKRA_ASSERT(arrivals.empty() || arrivals.size() == ranks.size());
  Traffic traffic(fabric, congestion, {});
  traffic.add(0, plan, order, ranks, flow);
  std::vector<Traffic::Done> done;
  Picoseconds last = 0;
  // An advance that finishes nothing, as the last one without latency, does not say when.
  const auto advance = [&](Picoseconds until) {
    for (size_t known = done.size(); traffic.next_event_time() < until; known = done.size()) {
      const Picoseconds now = traffic.advance_to(until, done);
      if (done.size() > known) last = now;
    }
  };
  std::vector<uint32_t> members(ranks.size());
  std::iota(members.begin(), members.end(), 0);
  if (!arrivals.empty()) std::ranges::stable_sort(members, {}, [&](uint32_t m) { return arrivals[m]; });
  for (const uint32_t m : members) {
    const Picoseconds now = arrivals.empty() ? 0 : arrivals[m];
    advance(now);
    traffic.begin(now, 0, m, done);
  }
  advance(net::kNever);
  return last;
}

void choose_by_running(coll::Choice& choice, const coll::Operation& op, const coll::Place& place) {
  Picoseconds least = net::kNever;
  for (const coll::Candidate& c : choice.candidates)
    if (c.predicted_ps) least = std::min(least, *c.predicted_ps);
  if (choice.by_rule || least == net::kNever || transfers_of(choice.plan) > kMostTransfersAlone) return;
  const std::vector<uint32_t> near = coll::near_order(place), by_grid = coll::grid_order(place);
  Picoseconds best = time_alone(*place.fabric, Congestion::fluid, choice.plan, choice.order, place.ranks, place.flow);
  double bar = static_cast<double>(best) / kSharedClose;
  for (const coll::Candidate& c : choice.candidates) {
    if (!c.predicted_ps || static_cast<double>(*c.predicted_ps) > kNear * static_cast<double>(least)) continue;
    const std::span<const uint32_t> order = c.near      ? std::span<const uint32_t>(near)
                                            : c.by_grid ? std::span<const uint32_t>(by_grid)
                                                        : std::span<const uint32_t>();
    if (c.algorithm == choice.algorithm && std::ranges::equal(order, choice.order)) continue;
    const coll::Reordered seen(op, place, order);
    coll::Plan plan = c.algorithm->plan(seen.op, seen.place);
    if (transfers_of(plan) > kMostTransfersAlone) continue;
    const Picoseconds time = time_alone(*place.fabric, Congestion::fluid, plan, order, place.ranks, place.flow);
    if (static_cast<double>(time) >= bar) continue;
    bar = static_cast<double>(time);
    choice.algorithm = c.algorithm;
    choice.order.assign(order.begin(), order.end());
    choice.plan = std::move(plan);
  }
}

}  // namespace chakra::sim
