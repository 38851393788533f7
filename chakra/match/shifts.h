// Alignment of two recordings of one sequence that may begin and end at different places:
// the shift between the two. Inside match: windows.cpp uses it for pairs of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::match {

/// A collective of one rank.
struct RecordedCall {
  uint64_t kind = 0;     ///< equal for members of one collective: operation, element type, and size if it must be equal
  int64_t step = -1;     ///< number of the ProfilerStep; -1: unknown
  double end_ns = 0;     ///< by the rank's clock
  bool together = true;  ///< all members leave it together
};
using RecordedCalls = std::vector<RecordedCall>;

/// Element i of `b` is element i + shift of `a`.
struct Shift {
  int64_t shift = 0;
  double offset_ns = 0;  ///< offset of b's clock, in the middle of the pairs
  double spread_ns = 0;  ///< deviation between the pairs
  size_t pairs = 0;      ///< 0: no overlap
};

/// Return the position of b in a, or no value if it is undetermined. `offset_ns`: offset of b's clock, if known.
std::optional<Shift> find_shift(const RecordedCalls& a, const RecordedCalls& b, std::optional<double> offset_ns);
/// Find a shift as find_shift(), by the steps alone.
std::optional<Shift> shift_by_steps(const RecordedCalls& a, const RecordedCalls& b);
/// Measure the pairs of a given shift.
Shift measure_shift(const RecordedCalls& a, const RecordedCalls& b, int64_t shift);
/// Return all shifts with pairs of equal kinds only, and enough pairs, ascending. Cost: O(a + b).
std::vector<int64_t> shifts_by_kind(const RecordedCalls& a, const RecordedCalls& b);

}  // namespace chakra::match
