#include "chakra/sim/alone.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "chakra/sim/equal_links.h"

namespace chakra::sim {
namespace {

/// Candidates whose price is at most this many times the least price are run: prices may be 41 % too low.
constexpr double kNear = 1.7;

/// Members of one group, and nothing else, as the ranks of a job.
struct Group {
  trace::ClassJob job;
  Ties ties;

  Group(std::span<const int64_t> ranks, uint64_t flow) {
    Members& members = ties.groups.emplace_back();
    members.ranks.assign(ranks.begin(), ranks.end());
    members.flow = flow;
    members.port.assign(ranks.size(), 0);
    members.index.resize(ranks.size());
    std::iota(members.index.begin(), members.index.end(), 0);
    for (const int64_t rank : ranks) job.ranks.emplace_back().rank = rank;
  }
};

/// A number per member: equal for those that send and receive the same at the same times.
std::vector<uint32_t> equal_members(EqualLinks& links, size_t members) {
  std::vector<uint32_t> colors(members, 0);
  for (size_t parts = 1, classes = links.count();;) {
    const std::vector<uint32_t> traffic = links.split(colors);
    Numbering numbers;
    for (size_t m = 0; m < members; ++m) colors[m] = numbers({colors[m], traffic[m]});
    if (numbers.size() == parts && links.count() == classes) return colors;
    parts = numbers.size();
    classes = links.count();
  }
}

/// When the last of the parts ends, which begin together.
Picoseconds run_together(Traffic& traffic, uint32_t members) {
  std::vector<Traffic::Done> done;
  Picoseconds last = 0;
  for (uint32_t m = 0; m < members; ++m) traffic.begin(0, 0, m, done);
  // An advance that finishes nothing, as the last one without latency, does not say when.
  for (size_t known = done.size(); traffic.next_event_time() < net::kNever; known = done.size()) {
    const Picoseconds now = traffic.advance_to(net::kNever, done);
    if (done.size() > known) last = now;
  }
  return last;
}

}  // namespace

uint64_t transfers_of(const coll::Round& round, size_t members) {
  if (!round.list.empty()) return round.list.size();
  return round.shift == 0 ? 0 : uint64_t{round.shifts} * members;
}
uint64_t transfers_of(const coll::Plan& plan, size_t members) {
  uint64_t count = 0;
  for (const coll::Round& round : plan.rounds) count += transfers_of(round, members);
  return count;
}
uint64_t transfers_of(const coll::Plan& plan) { return transfers_of(plan, plan.members); }

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

std::optional<Picoseconds> time_together(const net::Fabric& fabric, const coll::Plan& plan,
                                         std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
                                         uint64_t& most) {
  const uint64_t transfers = transfers_of(plan);
  const Group group(ranks, flow);
  EqualLinks links(group.job, group.ties, plan, order, fabric, most);
  if (!links.usable()) {
    if (transfers > most) return std::nullopt;
    most -= transfers;
    return time_alone(fabric, Congestion::fluid, plan, order, ranks, flow);
  }
  const std::vector<uint32_t> of_place = equal_members(links, ranks.size());
  Parts parts{of_place, {}};
  parts.ranks.resize(*std::max_element(of_place.begin(), of_place.end()) + size_t{1}, 0);
  for (const uint32_t part : of_place) ++parts.ranks[part];
  const uint64_t cost = std::max(links.listed(), transfers_of(plan, parts.ranks.size()));
  if (cost > most) return std::nullopt;
  most -= cost;
  const LinkClasses classes = links.classes();
  Traffic traffic(fabric, Congestion::fluid, {}, &classes);
  traffic.add(0, plan, std::make_shared<const Course>(course_of(plan, order, ranks, flow, parts, fabric, classes)));
  return run_together(traffic, static_cast<uint32_t>(parts.ranks.size()));
}

void choose_by_running(coll::Choice& choice, const coll::Operation& op, const coll::Place& place) {
  Picoseconds least = net::kNever;
  for (const coll::Candidate& c : choice.candidates)
    if (c.predicted_ps) least = std::min(least, *c.predicted_ps);
  if (choice.by_rule || least == net::kNever) return;
  const auto time_of = [&](const coll::Plan& plan, std::span<const uint32_t> order) {
    uint64_t most = kMostTransfersAlone;
    return time_together(*place.fabric, plan, order, place.ranks, place.flow, most);
  };
  const std::optional<Picoseconds> chosen = time_of(choice.plan, choice.order);
  if (!chosen) return;
  double bar = static_cast<double>(*chosen) / kSharedClose;
  const std::vector<uint32_t> near = coll::near_order(place), by_grid = coll::grid_order(place);
  for (const coll::Candidate& c : choice.candidates) {
    if (!c.predicted_ps || static_cast<double>(*c.predicted_ps) > kNear * static_cast<double>(least)) continue;
    const std::span<const uint32_t> order = c.near      ? std::span<const uint32_t>(near)
                                            : c.by_grid ? std::span<const uint32_t>(by_grid)
                                                        : std::span<const uint32_t>();
    if (c.algorithm == choice.algorithm && std::ranges::equal(order, choice.order)) continue;
    const coll::Reordered seen(op, place, order);
    coll::Plan plan = c.algorithm->plan(seen.op, seen.place);
    const std::optional<Picoseconds> time = time_of(plan, order);
    if (!time || static_cast<double>(*time) >= bar) continue;
    bar = static_cast<double>(*time);
    choice.algorithm = c.algorithm;
    choice.order.assign(order.begin(), order.end());
    choice.plan = std::move(plan);
  }
}

}  // namespace chakra::sim
