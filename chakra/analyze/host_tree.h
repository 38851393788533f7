// Operators of a rank with the launches below each, by the time of the launch: the basis of the tables of shapes and
// sequences.
#pragma once

#include <span>
#include <vector>

#include "chakra/analyze/device_work.h"

namespace chakra::analyze {

/// Return the first caller of a node (the whole node), or kNoNode.
trace::NodeId caller_of(const trace::Trace& trace, const DeviceWork& work, trace::NodeId node);

/// Return the innermost operator around the launch of a device operation, or kNoNode.
trace::NodeId launching_operator(const trace::Trace& trace, const DeviceWork& work, const DeviceOperation& operation);

/// Device operations sorted by the thread and the time of the launch: the launches under an operator are contiguous.
class LaunchesByThread {
 public:
  /// Cost: O(operations log operations).
  LaunchesByThread(const trace::Trace& trace, const DeviceWork& work);
  /// Return rows of DeviceWork::operations launched on a thread from `from` (inclusive) to `until` (exclusive).
  std::span<const uint32_t> between(uint32_t lane, Picoseconds from, Picoseconds until) const;
  /// Return the index in order() at which a span of between() begins.
  size_t position(std::span<const uint32_t> span) const { return static_cast<size_t>(span.data() - order_.data()); }
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  std::vector<uint32_t> order_;
  std::vector<std::pair<uint32_t, Picoseconds>> launched_;  ///< parallel: lane and time
};

}  // namespace chakra::analyze
