// Two recordings of one sequence that may begin and end at different places: by how much one is behind the other.
// Inside match: windows.cpp asks it for each pair of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::match {

/// A collective of one rank.
struct RecordedCall {
  uint64_t kind = 0;     ///< equal for members of one collective: operation, element type, size where it must be equal
  int64_t step = -1;     ///< number of the ProfilerStep; -1: none
  double end_ns = 0;     ///< by the rank's own clock
  bool together = true;  ///< all members leave it together
};
using RecordedCalls = std::vector<RecordedCall>;

/// Element i of `b` is element i + shift of `a`.
struct Shift {
  int64_t shift = 0;
  double offset_ns = 0;  ///< how far b's clock is ahead, in the middle
  double spread_ns = 0;  ///< how much the pairs disagree
  size_t pairs = 0;      ///< 0: nothing in common
};

/// Where b stands in a. Nothing where that cannot be told; `offset_ns` is how far b's clock is ahead, if that is known.
std::optional<Shift> find_shift(const RecordedCalls& a, const RecordedCalls& b, std::optional<double> offset_ns);
/// As find_shift(), by the steps alone.
std::optional<Shift> shift_by_steps(const RecordedCalls& a, const RecordedCalls& b);
/// The pairs of a given shift.
Shift measure_shift(const RecordedCalls& a, const RecordedCalls& b, int64_t shift);
/// All shifts at which every pair is of one kind and there are enough of them, ascending. Cost: O(a + b).
std::vector<int64_t> shifts_by_kind(const RecordedCalls& a, const RecordedCalls& b);

}  // namespace chakra::match
