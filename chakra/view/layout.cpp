#include "chakra/view/layout.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/view/pieces.h"

namespace chakra::view {
namespace {

using result::Timeline;

/// Slices by track, in the order of the timeline.
std::vector<uint32_t> by_track(const Timeline& timeline, std::vector<uint32_t>& begin) {
  begin.assign(timeline.tracks.size() + 2, 0);
  for (const Timeline::Slice& slice : timeline.slices) ++begin[slice.track + 2];
  for (size_t track = 2; track < begin.size(); ++track) begin[track] += begin[track - 1];
  std::vector<uint32_t> order(timeline.slices.size());
  for (uint32_t s = 0; s < order.size(); ++s) order[begin[timeline.slices[s].track + 1]++] = s;
  begin.pop_back();
  return order;
}

/// Place the slices of one track, which are in order: the number of the drawn track of each of them. Return how many
/// tracks are drawn.
uint32_t place(const Timeline& timeline, std::span<const uint32_t> slices, std::vector<uint32_t>& number_of_slice) {
  std::vector<std::vector<Picoseconds>> open(1);  // per drawn track: ends of the slices around
  for (const uint32_t s : slices) {
    const Timeline::Slice& slice = timeline.slices[s];
    for (uint32_t d = 0;; ++d) {
      if (d == open.size()) open.emplace_back();
      while (!open[d].empty() && open[d].back() <= slice.start_ps) open[d].pop_back();
      if (!open[d].empty() && open[d].back() < slice.end_ps) continue;  // would stick out
      open[d].push_back(slice.end_ps);
      number_of_slice[s] = d;
      break;
    }
  }
  return static_cast<uint32_t>(open.size());
}

}  // namespace

std::string Layout::name(const Timeline& timeline, uint32_t d) const {
  const std::string& track = timeline.tracks[drawn[d].track].name;
  return drawn[d].number == 0 ? track : fmt::format("{} ({})", track, drawn[d].number + 1);
}

Layout lay_out(const Timeline& timeline) {
  Layout layout;
  std::vector<uint32_t> begin;
  layout.order = by_track(timeline, begin);
  layout.track_of_slice.resize(timeline.slices.size());
  const auto before = [&](uint32_t a, uint32_t b) {
    const Timeline::Slice &x = timeline.slices[a], &y = timeline.slices[b];
    if (x.start_ps != y.start_ps) return x.start_ps < y.start_ps;
    if (x.end_ps != y.end_ps) return x.end_ps > y.end_ps;
    return a < b;
  };
  std::vector<uint32_t> drawn(timeline.tracks.size());
  const auto lay_out_track = [&](size_t track) {
    const std::span slices = std::span(layout.order).subspan(begin[track], begin[track + 1] - begin[track]);
    if (!std::is_sorted(slices.begin(), slices.end(), before)) std::sort(slices.begin(), slices.end(), before);
    drawn[track] = place(timeline, slices, layout.track_of_slice);
  };
  if (timeline.slices.size() >= kPieceEvents) all_in_parallel(drawn.size(), lay_out_track);
  else
    for (size_t track = 0; track < drawn.size(); ++track) lay_out_track(track);
  std::vector<uint32_t> first(timeline.tracks.size());
  for (uint32_t track = 0; track < drawn.size(); ++track) {
    first[track] = static_cast<uint32_t>(layout.drawn.size());
    for (uint32_t number = 0; number < drawn[track]; ++number) layout.drawn.push_back({track, number});
  }
  for (size_t s = 0; s < timeline.slices.size(); ++s) layout.track_of_slice[s] += first[timeline.slices[s].track];
  return layout;
}

FlowEnds ends_of(const Timeline& timeline, const Timeline::Flow& flow) {
  const Timeline::Slice &from = timeline.slices[flow.from], &to = timeline.slices[flow.to];
  const Picoseconds leaves = std::max(from.start_ps, std::min(from.end_ps - kPsPerNs, to.start_ps));
  return {leaves, std::clamp(leaves, to.start_ps, to.end_ps)};
}

}  // namespace chakra::view
