// Monitored barriers of a rank that may be of several groups: the first rank of a group knows its own, since it
// receives from all others, and the others leave when it does.
#include <algorithm>
#include <cmath>
#include <optional>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::RankIndex;
using trace::Trace;

constexpr double kNearer = 3;           ///< times nearer than the end of another group's barrier
constexpr double kSameEndNs = 100'000;  ///< ends no farther apart than this count as simultaneous

double end_ns(const Trace& t, const Clock& clock, NodeId n) {
  const double since_ps = static_cast<double>(t.start_ps[n]) + static_cast<double>(t.dur_ps[n]);
  return clock.start_ns + since_ps / static_cast<double>(kPsPerNs) / (1 + clock.drift_ppm * 1e-6);
}

/// How far the nearest barrier of the group's first rank ends from a time.
double nearest(const trace::TraceSet& job, const JobTimes& times, RankIndex first, std::string_view group, double end) {
  const Trace& t = job.ranks[first];
  double best = INFINITY;
  for (const NodeId n : t.nodes())
    if (const trace::Comm* c = t.comm(n);
        c && c->type == trace::CommType::barrier && t.has_start(n) && t.strings[c->group] == group)
      best = std::min(best, std::abs(end_ns(t, times.clocks[first], n) - end));
  return best;
}

}  // namespace

std::vector<BarrierGroup> find_barrier_groups(const trace::TraceSet& job, const JobTimes& times,
                                              std::string_view open) {
  CHAKRA_ASSERT(times.clocks.size() == job.ranks.size());
  std::vector<BarrierGroup> found;
  for (const RankIndex r : job.indices()) {
    const Trace& t = job.ranks[r];
    for (const NodeId n : t.nodes()) {
      if (!t.comm(n) || t.strings[t.comm(n)->group] != open || !t.has_start(n)) continue;
      const double end = end_ns(t, times.clocks[r], n);
      double best = INFINITY, next = INFINITY;
      const trace::ProcessGroup* of = nullptr;
      for (const trace::ProcessGroup& group : t.groups) {
        if (!group.ranks.empty() && std::find(group.ranks.begin(), group.ranks.end(), t.rank) == group.ranks.end())
          continue;
        const Trace* first = job.find(group.ranks.empty() ? 0 : group.ranks[0]);
        if (!first || first == &t) continue;
        const RankIndex index(first - job.ranks.data());
        const Clock &own = times.clocks[r], &clock = times.clocks[index];
        if (!own.known || !clock.known || own.reference != clock.reference) continue;
        const double away = nearest(job, times, index, group.name, end);
        if (away < best) next = best, best = away, of = &group;
        else next = std::min(next, away);
      }
      if (of && kNearer * best + kSameEndNs < next) found.push_back({r, n, of->name});
    }
  }
  return found;
}

}  // namespace chakra::analyze
