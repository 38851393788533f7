#include "chakra/job/timeline_clocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "chakra/recorded/recorded.h"
#include "chakra/trace/starts.h"
#include "chakra/view/view.h"

namespace chakra::job {

// `view.clocks` (note): the ranks are on the clock of the job, or each is on its own because one clock is unknown

namespace {

using Clocks = std::map<int64_t, recorded::JobClock>;  ///< by measured rank

/// The clocks if all are known and several, else none.
Result<Clocks> known_clocks(const trace::TraceSet& job, Findings& findings) {
  const auto note = [&](std::string text) {
    findings.push_back({"view.clocks", Severity::note, -1, -1, std::move(text)});
  };
  Clocks clocks;
  std::optional<int64_t> known, unknown;  // ranks
  for (const trace::Trace& t : job.ranks) {
    if (!trace::has_starts(t)) continue;
    CHAKRA_ASSIGN(const recorded::JobClock clock, recorded::JobClock::of(t));
    clocks.emplace(t.rank, clock);
    (clock.known() ? known : unknown) = t.rank;
  }
  if (clocks.size() < 2 || !known) return Clocks();
  if (unknown) {
    note(fmt::format("the clock of rank {} is unknown, so each rank is placed by its own clock", *unknown));
    return Clocks();
  }
  note("the ranks are placed by the clock of the job, as 'chakra link' estimated it");
  return clocks;
}

}  // namespace

Result<result::Timeline> timeline_of(trace::TraceSet& job, Findings& findings) {
  CHAKRA_ASSIGN(const Clocks clocks, known_clocks(job, findings));
  Picoseconds zero = INT64_MAX;
  for (const auto& [rank, clock] : clocks) zero = std::min(zero, clock.at(0));
  for (trace::Trace& t : job.ranks)
    if (clocks.contains(t.rank)) t.base_ns = 0;  // slices then have the times of their rank
  CHAKRA_ASSIGN(result::Timeline timeline, view::timeline_of(job, findings));
  for (result::Timeline::Slice& slice : timeline.slices)
    if (const auto clock = clocks.find(timeline.tracks[slice.track].rank); clock != clocks.end())
      for (Picoseconds* const time : {&slice.start_ps, &slice.end_ps})
        *time = add_saturated(clock->second.at(*time), -zero);
  return timeline;
}

}  // namespace chakra::job
