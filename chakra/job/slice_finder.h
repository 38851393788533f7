// The slices of a job's nodes in a timeline.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::job {

inline constexpr uint32_t kNoSlice = UINT32_MAX;

/// Slices by the rank and the id of their nodes. Cost: O(n log n) to make.
class SliceFinder {
 public:
  explicit SliceFinder(const result::Timeline& timeline);

  /// Return the slice of a node; kNoSlice: none, or several.
  uint32_t of(int64_t rank, uint64_t node) const;
  /// Return the slices of the nodes of a rank, where a node that continues another has the slice of that one.
  std::vector<uint32_t> of(int64_t rank, const trace::Trace& t) const;
  /// Return the ranks with slices.
  std::vector<int64_t> ranks() const;

 private:
  std::map<int64_t, std::vector<std::pair<uint64_t, uint32_t>>> of_;
};

/// Return the time that the timeline adds to the times of a rank. `slices`: as SliceFinder returns them for the trace.
Picoseconds offset_of(const result::Timeline& timeline, const std::vector<uint32_t>& slices,
                      const analyze::Schedule& schedule, const trace::Trace& t);

}  // namespace chakra::job
