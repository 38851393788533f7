// Why streams stand idle between two operations. The causes are those of HolisticTraceAnalysis'
// get_idle_time_breakdown.
#include <algorithm>
#include <array>
#include <map>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using Kind = Table::Kind;

/// A gap this short between operations of which the later was launched in time is the launch of back-to-back kernels.
constexpr Picoseconds kBackToBack = 30 * kPsPerNs;

constexpr std::array<std::string_view, 3> kCauses{"host wait", "kernel wait", "other"};

struct Gaps {
  std::array<int64_t, kCauses.size()> count{};
  std::array<Picoseconds, kCauses.size()> time{}, launching{};
};

/// Gaps before an operation, from the latest end of those before it: operations of a stream may overlap.
Gaps gaps_of(const DeviceWork& work, std::vector<const DeviceOperation*>& stream) {
  std::stable_sort(stream.begin(), stream.end(), [](auto* a, auto* b) { return a->start < b->start; });
  Gaps gaps;
  Picoseconds end = stream[0]->end;
  for (const DeviceOperation* operation : stream) {
    const Picoseconds gap = operation->start - end;
    if (gap > 0) {
      const bool late = operation->call != trace::kNoRow && work.calls[operation->call].start > end;
      const size_t cause = late ? 0 : gap < kBackToBack ? 1 : 2;
      ++gaps.count[cause];
      gaps.time[cause] = add_saturated(gaps.time[cause], gap);
      if (operation->call != trace::kNoRow)
        gaps.launching[cause] = add_saturated(gaps.launching[cause],
                                              std::clamp<Picoseconds>(work.calls[operation->call].end - end, 0, gap));
    }
    end = std::max(end, operation->end);
  }
  return gaps;
}

}  // namespace

Result<std::vector<NamedTable>> idle_causes(const Job& job, Findings&) {
  Table table{"Idle time of streams between operations, by cause",
              {{"rank", Kind::id, "rank", "the rank"},
               {"device", Kind::plain, "device", "the device; -1: unknown"},
               {"stream", Kind::plain, "stream", "the stream; -1: unknown"},
               {"cause", Kind::text, "cause", "cause of the gaps: host wait, kernel wait or other"},
               {"gaps", Kind::count, "gaps", "gaps between operations"},
               {"time", Kind::time_ps, "time_ps", "sum of these gaps"},
               {"share", Kind::share, "share", "its share of the stream's gaps"},
               {"launching", Kind::time_ps, "launching_ps", "part of these gaps before the launching call returns"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const trace::Trace& t = job.traces.ranks[r];
    if (!job.schedules[r].measured) continue;
    const DeviceWork& work = device_work(job, r);
    std::map<std::pair<int64_t, int64_t>, std::vector<const DeviceOperation*>> streams;
    for (const DeviceOperation& operation : work.operations)
      streams[{device_of(t, operation.node), stream_of(t, operation.node)}].push_back(&operation);
    for (auto& [place, operations] : streams) {
      const Gaps gaps = gaps_of(work, operations);
      Picoseconds all = 0;
      for (const Picoseconds time : gaps.time) all = add_saturated(all, time);
      for (size_t c = 0; c < kCauses.size(); ++c)
        if (gaps.count[c] > 0)
          table.rows.push_back({t.rank, place.first, place.second, std::string(kCauses[c]), gaps.count[c], gaps.time[c],
                                share(gaps.time[c], all), gaps.launching[c]});
    }
  }
  return std::vector<NamedTable>{{"idle_causes", std::move(table)}};
}

}  // namespace chakra::analyze
