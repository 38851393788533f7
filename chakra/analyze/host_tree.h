// The operators of a rank with what was launched under each, by the time of the launch: the tables of shapes and
// sequences begin with them.
#pragma once

#include <span>
#include <vector>

#include "chakra/analyze/device_work.h"

namespace chakra::analyze {

/// The first caller of a node, whole; kNoNode: none.
trace::NodeId caller_of(const trace::Trace& trace, const DeviceWork& work, trace::NodeId node);

/// The innermost operator around the launch of a device operation, or kNoNode.
trace::NodeId launching_operator(const trace::Trace& trace, const DeviceWork& work, const DeviceOperation& operation);

/// Device operations by the thread and the time of their launch, so that those under an operator follow each other.
class LaunchesByThread {
 public:
  /// Cost: O(operations log operations).
  LaunchesByThread(const trace::Trace& trace, const DeviceWork& work);
  /// Rows of DeviceWork::operations that were launched on a thread from `from` on and before `until`.
  std::span<const uint32_t> between(uint32_t lane, Picoseconds from, Picoseconds until) const;
  /// Where a span of between() begins in the order of all.
  size_t position(std::span<const uint32_t> span) const { return static_cast<size_t>(span.data() - order_.data()); }
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  std::vector<uint32_t> order_;
  std::vector<std::pair<uint32_t, Picoseconds>> launched_;  ///< parallel: lane and time
};

}  // namespace chakra::analyze
