// How many launched operations wait on each stream. The numbers are those of HolisticTraceAnalysis'
// get_queue_length_time_series and get_queue_length_summary.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/moments.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::Trace;
using Kind = Table::Kind;

constexpr int64_t kFull = 1024;  ///< operations that fit into a launch queue of CUDA

/// The length grows when a call begins that launches, and shrinks when what it launched begins to run. At the same
/// moment launches come first.
struct Change {
  Picoseconds time = 0;
  int64_t length = 0;  ///< from here on; at first +1 or -1
};

void accumulate(std::vector<Change>& changes) {
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.length > b.length; });
  int64_t length = 0;
  for (Change& change : changes) change.length = length += change.length;
}

/// Between two of the sorted numbers, as pandas and numpy do it.
double quantile(const std::vector<int64_t>& sorted, double part) {
  const double at = static_cast<double>(sorted.size() - 1) * part;
  const auto low = static_cast<size_t>(at);
  const auto a = static_cast<double>(sorted[low]);
  const auto b = static_cast<double>(sorted[std::min(low + 1, sorted.size() - 1)]);
  return a + (b - a) * (at - std::floor(at));
}

std::vector<Table::Cell> summary(int64_t rank, int64_t device, int64_t stream, const std::vector<Change>& changes) {
  Moments moments;
  std::vector<int64_t> sorted;
  long double area = 0;
  Picoseconds full = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    moments.add(changes[i].length);
    sorted.push_back(changes[i].length);
    if (i + 1 == changes.size()) break;
    const Picoseconds time = changes[i + 1].time - changes[i].time;
    area += static_cast<long double>(time) * static_cast<long double>(changes[i].length);
    if (changes[i].length >= kFull) full = add_saturated(full, time);
  }
  std::sort(sorted.begin(), sorted.end());
  const Picoseconds span = changes.back().time - changes.front().time;
  const double over_time = span > 0 ? static_cast<double>(area / static_cast<long double>(span)) : 0;
  return {rank,
          device,
          stream,
          moments.count,
          moments.mean(),
          moments.deviation(),
          moments.least,
          quantile(sorted, 0.25),
          quantile(sorted, 0.5),
          quantile(sorted, 0.75),
          moments.largest,
          over_time,
          full};
}

}  // namespace

// `analyze.graph_launch` (finding): device operations that graphs launched: queue lengths leave them out.
Result<std::vector<NamedTable>> queues(const Job& job, Findings& findings) {
  Table lengths{"Queue lengths: launched operations that have not begun, at each change",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"device", Kind::plain, "device", "the device; -1: unknown"},
                 {"stream", Kind::plain, "stream", "the stream; -1: unknown"},
                 {"changes", Kind::count, "changes", "changes of the length"},
                 {"mean", Kind::real, "mean", "mean of the length, over changes"},
                 {"std", Kind::real, "std", "standard deviation, over changes"},
                 {"min", Kind::count, "min", "least length"},
                 {"p25", Kind::real, "p25", "quartile, over changes"},
                 {"p50", Kind::real, "p50", "median, over changes"},
                 {"p75", Kind::real, "p75", "quartile, over changes"},
                 {"max", Kind::count, "max", "largest length"},
                 {"mean over time", Kind::real, "mean_over_time", "mean of the length, over time"},
                 {"full", Kind::time_ps, "full_ps", "time with a length of 1,024 or more"}},
                {}};
  Table over{"Queue lengths over time",
             {{"rank", Kind::id, "rank", "the rank"},
              {"device", Kind::plain, "device", "the device; -1: unknown"},
              {"stream", Kind::plain, "stream", "the stream; -1: unknown"},
              {"from", Kind::time_ps, "from_ps", "since the rank's first start"},
              {"length", Kind::count, "length", "length from then on"}},
             {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    if (!job.schedules[r].measured) continue;
    const DeviceWork& work = device_work(job, r);
    std::map<std::pair<int64_t, int64_t>, std::vector<Change>> streams;
    int64_t of_graphs = 0;
    for (const DeviceOperation& operation : work.operations) {
      if (operation.call == trace::kNoRow) continue;
      if (work.calls[operation.call].graph) {
        ++of_graphs;
        continue;
      }
      auto& changes = streams[{device_of(t, operation.node), stream_of(t, operation.node)}];
      changes.push_back({work.calls[operation.call].start, 1});
      changes.push_back({operation.start, -1});
    }
    for (auto& [place, changes] : streams) {
      accumulate(changes);
      lengths.rows.push_back(summary(t.rank, place.first, place.second, changes));
      if (!job.details) continue;
      for (const Change& change : changes)
        over.rows.push_back({t.rank, place.first, place.second, change.time - job.schedules[r].first, change.length});
    }
    if (of_graphs > 0)
      findings.push_back(
          {"analyze.graph_launch", Severity::note, t.rank, -1,
           fmt::format(
               "{} device operations were launched by graphs and have no separate launch; queue lengths leave them out",
               show_count(of_graphs))});
  }
  return std::vector<NamedTable>{{"queue_lengths", std::move(lengths)},
                                 {"queue_lengths_over_time", std::move(over), true}};
}

}  // namespace chakra::analyze
