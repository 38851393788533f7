// Difference in the order of starts between two runs: a recording and a run for real, or two runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

struct OrderDifference {
  /// Pairs with a defined order in both runs: pairs with equal starts in one run do not count.
  uint64_t pairs = 0, swapped = 0;
  /// Pairs of consecutive starts in the first run, at different times.
  uint64_t neighbours = 0, neighbours_swapped = 0;
  /// The first position (from 0) where the orders differ, and the item at this position in each run.
  struct First {
    size_t place = 0, was = 0, is = 0;
  };
  std::optional<First> first;

  /// Return the normalised distance of M. G. Kendall, "A new measure of rank correlation", 1938: 0 for the same order,
  /// 1 for the opposite order. 0 if no pair counts.
  double distance() const { return pairs == 0 ? 0 : static_cast<double>(swapped) / static_cast<double>(pairs); }
  double neighbours_share() const {
    return neighbours == 0 ? 0 : static_cast<double>(neighbours_swapped) / static_cast<double>(neighbours);
  }
};
/// Compare orders. `was`, `is`: start of each item in the first and in the second run. Equal starts in one run take the
/// order of the other run. Cost: O(n log n).
OrderDifference order_difference(std::span<const Picoseconds> was, std::span<const Picoseconds> is);

/// Return a row per rank for all nodes, and a row for communication. Nodes match if name, type, and the number of
/// earlier nodes with this name and type in the file are equal. Nodes without a measured start in either run, metadata
/// and nodes for idle time are ignored. `replayed`: repetitions, at least one; shares are the median over the
/// repetitions, the first position is from the first repetition with a difference. Findings: analyze.timing.order.
/// Cost: O(nodes log nodes).
result::Table order_timing(const trace::TraceSet& recorded, std::span<const trace::TraceSet> replayed,
                           Findings& findings);

}  // namespace chakra::analyze
