// In how much another order the same things start in two runs: a recording and its replay, or two runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::analyze {

struct OrderDifference {
  /// Pairs of which one starts first in both runs: those that start at the same time in one of them do not count.
  uint64_t pairs = 0, swapped = 0;
  /// Pairs that start one right after the other in the first run, at different times.
  uint64_t neighbours = 0, neighbours_swapped = 0;
  /// The first place (from 0) where the orders of starts differ, and what has it in each run.
  struct First {
    size_t place = 0, was = 0, is = 0;
  };
  std::optional<First> first;

  /// The normalised distance of M. G. Kendall, "A new measure of rank correlation", 1938: 0 in the same order, 1 in the
  /// opposite one. 0 where no pair counts.
  double distance() const { return pairs == 0 ? 0 : static_cast<double>(swapped) / static_cast<double>(pairs); }
  double neighbours_share() const {
    return neighbours == 0 ? 0 : static_cast<double>(neighbours_swapped) / static_cast<double>(neighbours);
  }
};
/// When each thing starts in the first and in the second run. Things that start at the same time in one run are taken
/// in the order of the other. Cost: O(n log n).
OrderDifference order_difference(std::span<const Picoseconds> was, std::span<const Picoseconds> is);

/// A row per rank for its nodes, and one for its communication. The same node is the one that has the same name and
/// type, and as many nodes of them before it in the file. Nodes without a measured start in one of the two, metadata
/// and nodes that stand for idle time are left out. `replayed`: repetitions, at least one; shares are the median over
/// them, the first place is of the first of them that differs. Findings: analyze.timing.order. Cost: O(nodes log
/// nodes).
result::Table order_timing(const trace::TraceSet& recorded, std::span<const trace::TraceSet> replayed,
                           Findings& findings);

}  // namespace chakra::analyze
