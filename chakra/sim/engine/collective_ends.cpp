#include "chakra/sim/engine/collective_ends.h"

#include <algorithm>
#include <numeric>

#include "chakra/base/times.h"

namespace chakra::sim {
namespace {

constexpr Picoseconds kRounding = 2;  ///< of a time that is rounded from a sum of doubles

/// When each member came, since the first did.
std::vector<Picoseconds> arrivals(const Run& run, const match::Collective& c) {
  std::vector<Picoseconds> came;
  for (const match::NodeRef& member : c.members) came.push_back(run.actors[member.rank].times.start[member.node]);
  const Picoseconds first = *std::min_element(came.begin(), came.end());
  for (Picoseconds& time : came) time -= first;
  return came;
}

}  // namespace

/// As Collectives::price: where each cost takes `factor` of its time, arrivals are 1 / factor as far apart beside them.
Picoseconds CollectiveEnds::ends(match::NodeRef at, const std::vector<Picoseconds>& came) {
  const match::Collective& c = run_.job.collective_of(at.rank, at.node);
  const Folded::Group& group = run_.job.group_of(c);
  const GroupPlaces& places = run_.job.places[c.group];
  const double factor = run_.transfer_factor(at.rank, at.node);
  const Picoseconds last = *std::max_element(came.begin(), came.end());
  if (factor == 0) return last;
  ready_.resize(group.ranks.size());
  for (size_t p = 0; p < ready_.size(); ++p)
    ready_[p] = times(group.late_start ? last : came[places.member_at[p]], 1 / factor);
  prices_.run(prices_.shape(group.ranks, group.flow), operations_.of(c, at.rank, at.node), ready_);
  const uint32_t member = run_.job.member_of[at.rank][run_.job.trace(at.rank).comm_row[at.node]];
  return std::max(last, times(ready_[places.first_place[member]], factor));
}

Picoseconds CollectiveEnds::since(match::NodeRef at, Picoseconds start) {
  std::vector<Picoseconds> came;
  for (const match::NodeRef& member : run_.job.collective_of(at.rank, at.node).members) {
    const Picoseconds time = run_.actors[member.rank].times.start[member.node];
    // So early that what depends on it ends before `start`.
    came.push_back(time == start ? 0 : -(run_.actors[at.rank].times.end[at.node] - std::min(time, start)));
  }
  return ends(at, came);
}

match::NodeRef CollectiveEnds::decisive(match::NodeRef at) {
  const match::Collective& c = run_.job.collective_of(at.rank, at.node);
  const std::vector<Picoseconds> came = arrivals(run_, c);
  std::vector<uint32_t> latest(came.size());  // members, the last to come first
  std::iota(latest.begin(), latest.end(), 0u);
  std::stable_sort(latest.begin(), latest.end(), [&](uint32_t a, uint32_t b) { return came[a] > came[b]; });
  const Picoseconds end = ends(at, came);
  if (came[latest.front()] == came[latest.back()] || end <= came[latest.front()] + kRounding)
    return c.members[latest.front()];
  // So early that what depends on these alone ends before the first came: they cannot decide.
  const auto with_latest = [&](size_t count) {
    std::vector<Picoseconds> only(came.size(), -end);
    for (size_t i = 0; i < count; ++i) only[latest[i]] = came[latest[i]];
    return ends(at, only);
  };
  size_t few = 1, enough = latest.size();
  while (few < enough) {
    const size_t half = few + (enough - few) / 2;
    if (with_latest(half) + kRounding >= end) enough = half;
    else few = half + 1;
  }
  return c.members[latest[enough - 1]];
}

}  // namespace chakra::sim
