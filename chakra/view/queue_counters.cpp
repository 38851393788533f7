// How many operations wait on each stream, over time.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/view/view.h"

namespace chakra::view {

using result::Timeline;

void add_queue_counters(Timeline& timeline) {
  struct Change {
    Picoseconds at;
    int64_t by;
  };
  std::map<uint32_t, std::vector<Change>> changes;  // by track
  const StringId launch = timeline.strings.find(trace::name(trace::EdgeKind::launch));
  for (const Timeline::Flow& flow : timeline.flows) {
    if (flow.name != launch) continue;
    const Timeline::Slice &call = timeline.slices[flow.from], &operation = timeline.slices[flow.to];
    std::vector<Change>& of_track = changes[operation.track];
    of_track.push_back({call.start_ps, 1});
    of_track.push_back({std::max(operation.start_ps, call.start_ps), -1});
  }
  for (auto& [track, list] : changes) {
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
    const Timeline::Track& of = timeline.tracks[track];
    Timeline::Counter counter{of.rank, fmt::format("waiting on {}", of.name), "operations", {}, {}};
    int64_t waiting = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      waiting += list[i].by;
      if (i + 1 < list.size() && list[i + 1].at == list[i].at) continue;
      counter.at_ps.push_back(list[i].at);
      counter.values.push_back(waiting);
    }
    timeline.counters.push_back(std::move(counter));
  }
}

}  // namespace chakra::view
