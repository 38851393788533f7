#include "chakra/job/slice_finder.h"

#include <algorithm>
#include <iterator>

namespace chakra::job {

using result::Timeline;

SliceFinder::SliceFinder(const Timeline& timeline) {
  for (uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Timeline::Slice& slice = timeline.slices[i];
    of_[timeline.tracks[slice.track].rank].emplace_back(slice.node, i);
  }
  std::vector<std::vector<std::pair<uint64_t, uint32_t>>*> ranks;
  for (auto& [rank, slices] : of_) ranks.push_back(&slices);
  all_in_parallel(ranks.size(), [&](size_t r) { std::sort(ranks[r]->begin(), ranks[r]->end()); });
}

uint32_t SliceFinder::of(int64_t rank, uint64_t node) const {
  const auto found = of_.find(rank);
  if (found == of_.end()) return kNoSlice;
  const auto& slices = found->second;
  const auto at = std::lower_bound(slices.begin(), slices.end(), std::pair(node, uint32_t{0}));
  if (at == slices.end() || at->first != node) return kNoSlice;
  return std::next(at) != slices.end() && std::next(at)->first == node ? kNoSlice : at->second;
}

std::vector<uint32_t> SliceFinder::of(int64_t rank, const trace::Trace& t) const {
  std::vector<uint32_t> slices;
  for (const trace::NodeId shown : trace::shown_nodes(t)) slices.push_back(of(rank, t.id[shown]));
  return slices;
}

std::vector<int64_t> SliceFinder::ranks() const {
  std::vector<int64_t> all;
  for (const auto& [rank, slices] : of_) all.push_back(rank);
  return all;
}

Picoseconds offset_of(const Timeline& timeline, const std::vector<uint32_t>& slices, const analyze::Schedule& schedule,
                      const trace::Trace& t) {
  const std::vector<trace::NodeId> shown = trace::shown_nodes(t);
  for (size_t n = 0; n < slices.size(); ++n)
    if (slices[n] != kNoSlice) return timeline.slices[slices[n]].start_ps - schedule.start[shown[n]];
  return 0;
}

}  // namespace chakra::job
