// The places of a timeline's slices, flows and counters in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/result/result.h"

namespace chakra::view {

/// Tracks of a file. Slices of one drawn track nest: a slice that would overlap moves to the next drawn track.
struct Layout {
  struct Drawn {
    uint32_t track = 0;   ///< of the timeline
    uint32_t number = 0;  ///< 0 for the first of that track, 1 for the next, ...
  };
  std::vector<Drawn> drawn;              ///< ascending by track
  std::vector<uint32_t> track_of_slice;  ///< into `drawn`
  /// All slices by track of the timeline, then by start; of slices with equal starts, the longest first.
  std::vector<uint32_t> order;

  std::string name(const result::Timeline& timeline, uint32_t drawn_track) const;
};
/// Cost: O(slices log slices); O(slices) if the slices of each track are in order already.
Layout lay_out(const result::Timeline& timeline);

/// The times of a flow. Both lie inside their slices: viewers find the slice by its time.
struct FlowEnds {
  Picoseconds leaves = 0, arrives = 0;
};
/// From the end of one slice, or from inside the slice if the other begins earlier, to the beginning of the other.
FlowEnds ends_of(const result::Timeline& timeline, const result::Timeline::Flow& flow);

}  // namespace chakra::view
