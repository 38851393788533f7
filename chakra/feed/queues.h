// The queue of each node and the next node of each queue, shared by simulator and executor. Each
// queue runs one node at a time. Queues belong to threads and streams; nodes without a lane use
// the queue of the rank's processor, device, memory or sends, or that of a group's collectives.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::feed {

/// Ready nodes wait by row; nodes of a group's queue run strictly in the order of their turns.
class Queues {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// The queues after those of the lanes, in this order.
  enum class Own : uint32_t { cpu, device, memory, sends, count };
  /// Position of a collective: group and index in the group, as numbered by the matching of ranks.
  struct Turn {
    uint32_t group = kNone, index = 0;
  };

  /// `turns`: by row of Trace::comms; only turns of collectives are read. The trace must outlive this object.
  /// Cost: O(nodes + collectives log collectives).
  Queues(const trace::Trace& trace, std::span<const Turn> turns);

  /// Return the queue of a node; kNone: the node starts when it is ready. Requires a turn for collectives.
  uint32_t of(trace::NodeId n) const {
    const trace::Trace& t = *trace_;
    const trace::NodeType type = t.type[n];
    if (type == trace::NodeType::metadata) return kNone;
    if (t.lane[n] != trace::kNoLane) return t.lane[n];
    switch (type) {
      case trace::NodeType::coll: return turns_[t.comm_row[n]].group;
      case trace::NodeType::send: return own(Own::sends);
      case trace::NodeType::recv: return kNone;
      case trace::NodeType::mem_load:
      case trace::NodeType::mem_store: return own(Own::memory);
      default:
        if (t.name_of(n) == trace::kInitialCondition) return kNone;
        return own(t.on_cpu(n) ? Own::cpu : Own::device);
    }
  }
  /// Return the number of queues of lanes and of the rank; queues of groups have higher numbers.
  uint32_t fixed() const { return own(Own::count); }

  /// Add a node that is ready.
  void push(uint32_t q, trace::NodeId n) {
    Queue& queue = queues_[q];
    queue.pending.push({queue.order.empty() ? n : turns_[trace_->comm_row[n]].index, n});
  }
  /// Take the next node of a queue. kNoNode: the queue is busy or empty, or its next collective is not ready.
  trace::NodeId take(uint32_t q) {
    Queue& queue = queues_[q];
    if (queue.busy || queue.pending.empty()) return trace::kNoNode;
    const auto [index, n] = queue.pending.top();
    if (!queue.order.empty()) {
      if (index != queue.order[queue.next]) return trace::kNoNode;
      ++queue.next;
    }
    queue.pending.pop();
    queue.busy = true;
    before_[n] = std::exchange(queue.last, n);
    return n;
  }
  /// Record that the queue's node has ended.
  void release(uint32_t q) { queues_[q].busy = false; }

  /// Return the previous node of the same queue; kNoNode: no node.
  trace::NodeId before(trace::NodeId n) const { return before_[n]; }

 private:
  struct Queue {
    bool busy = false;
    /// Of a group's queue: its collectives by index in the group, which run strictly in this order.
    std::vector<uint32_t> order;
    size_t next = 0;                                   ///< into order: the next collective
    trace::NodeId last = trace::kNoNode;               ///< that the queue ran
    using Entry = std::pair<uint32_t, trace::NodeId>;  ///< index of the collective, or the row, and the node
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending;
  };

  uint32_t own(Own which) const { return lanes_ + static_cast<uint32_t>(which); }

  const trace::Trace* trace_;
  uint32_t lanes_;
  std::vector<Turn> turns_;  ///< by row of Trace::comms; group: the queue of the group
  std::vector<Queue> queues_;
  std::vector<trace::NodeId> before_;  ///< per node
};

/// Return the name of a queue: "thread 3235", "device 0 stream 7", "CPU", "compute", "memory", "sends";
/// "receives" for `queue` == fixed(), which shows nodes without a queue. Requires a queue of at most fixed().
std::string queue_name(const trace::Trace& trace, uint32_t queue);

}  // namespace chakra::feed
