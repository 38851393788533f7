#include "chakra/job/timeline_counters.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "chakra/analyze/analyze.h"
#include "chakra/job/slice_finder.h"

namespace chakra::job {
namespace {

using result::Timeline;

constexpr double kLoadUnits = 1e4;  ///< of the rate of a link

void put(Timeline::Counter& counter, Picoseconds at, int64_t value) {
  if (!counter.at_ps.empty() && counter.at_ps.back() == at) counter.values.back() = value;
  else counter.at_ps.push_back(at), counter.values.push_back(value);
}

/// When nodes run in a simulation; nullopt: a node with tensors has no slice.
std::optional<analyze::Schedule> schedule_of(const trace::Trace& t, const SliceFinder& finder,
                                             const Timeline& timeline) {
  analyze::Schedule schedule;
  for (const trace::NodeId n : t.nodes()) {
    const uint32_t slice = finder.of(t.rank, t.id[n]);
    if (slice == kNoSlice && t.io_row[n] != trace::kNoRow) return std::nullopt;
    const Timeline::Slice at = slice == kNoSlice ? Timeline::Slice() : timeline.slices[slice];
    schedule.start.push_back(at.start_ps);
    schedule.end.push_back(at.end_ps);
    schedule.last = std::max(schedule.last, at.end_ps);
  }
  return schedule;
}

/// The counters of a rank, one for each device.
Result<std::vector<Timeline::Counter>> memory_counters(const trace::Trace& t, bool measured, const SliceFinder& finder,
                                                       const Timeline& timeline) {
  std::optional<analyze::Schedule> schedule;
  Picoseconds offset = 0;
  if (measured) {
    Findings known;  // of the analysis
    CHAKRA_ASSIGN(schedule, analyze::schedule_of(t, known));
    offset = offset_of(timeline, finder.of(t.rank, t), *schedule, t);
  } else {
    schedule = schedule_of(t, finder, timeline);
  }
  std::vector<Timeline::Counter> counters;
  if (!schedule) return counters;
  for (const analyze::LiveBytes::Device& device : analyze::live_bytes(t, *schedule).devices) {
    Timeline::Counter counter{t.rank, fmt::format("live tensors on {}", device.name), "bytes", {}, {}};
    for (const auto& [at, bytes] : device.points)
      put(counter, add_saturated(offset, at),
          static_cast<int64_t>(std::min<uint64_t>(bytes, std::numeric_limits<int64_t>::max())));
    counters.push_back(std::move(counter));
  }
  return counters;
}

}  // namespace

void add_load_counters(const sim::LoadsOverTime& loads, Timeline& timeline) {
  for (size_t i = 0; i < loads.busiest.size();) {
    const sim::LoadPiece& first = loads.busiest[i];
    const std::string others = first.links > 1 ? fmt::format(" and {} equal", first.links - 1) : "";
    Timeline::Counter counter{kOfNoRank, fmt::format("load of {}{}", first.link, others), "0.01 % of the rate", {}, {}};
    for (; i < loads.busiest.size() && loads.busiest[i].link == first.link; ++i) {
      const sim::LoadPiece& piece = loads.busiest[i];
      const double load = std::min(piece.share * kLoadUnits, 1e18);
      put(counter, piece.start_ps, std::llround(load));
      put(counter, piece.end_ps, 0);
    }
    timeline.counters.push_back(std::move(counter));
  }
}

Result<void> add_memory_counters(const trace::TraceSet& job, bool measured, Timeline& timeline) {
  if (std::all_of(job.ranks.begin(), job.ranks.end(), [](const trace::Trace& t) { return t.ios.empty(); })) return {};
  const SliceFinder finder(timeline);
  std::vector<Result<std::vector<Timeline::Counter>>> of_ranks(job.ranks.size());
  trace::each_rank(job, [&](trace::RankIndex r) {
    if (!job.ranks[r].ios.empty()) of_ranks[r] = memory_counters(job.ranks[r], measured, finder, timeline);
  });
  for (auto& of_rank : of_ranks) {
    CHAKRA_ASSIGN(std::vector<Timeline::Counter> counters, std::move(of_rank));
    std::move(counters.begin(), counters.end(), std::back_inserter(timeline.counters));
  }
  return {};
}

}  // namespace chakra::job
