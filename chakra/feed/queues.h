// Which queue runs a node, and which node a queue runs next: what simulation and replay have in common. Each queue runs
// one node at a time: a thread, a stream, or, where the trace names none, the rank's processor, device, memory or
// sends, or a group's collectives.
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

/// Ready nodes wait by row; those of a group's queue run strictly in the order of their turns.
class Queues {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// The queues after those of the lanes, in this order.
  enum class Own : uint32_t { cpu, device, memory, sends, count };
  /// Which collective of its group a node is, as those who match ranks number both.
  struct Turn {
    uint32_t group = kNone, index = 0;
  };

  /// `turns`: by row of Trace::comms; those of collectives are read. The trace must outlive it.
  /// Cost: O(nodes + collectives log collectives).
  Queues(const trace::Trace& trace, std::span<const Turn> turns);

  /// The queue that runs a node; kNone: it starts when it is ready. Requires of a collective that it has a turn.
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
  /// Queues of lanes and of the rank itself; those of groups have higher numbers.
  uint32_t fixed() const { return own(Own::count); }

  /// A node that is ready.
  void push(uint32_t q, trace::NodeId n) {
    Queue& queue = queues_[q];
    queue.pending.push({queue.order.empty() ? n : turns_[trace_->comm_row[n]].index, n});
  }
  /// Takes the node that a queue runs now; kNoNode: it is busy, empty, or the collective that is due is not ready.
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
  /// The node that it ran has ended.
  void release(uint32_t q) { queues_[q].busy = false; }

  /// The node that its queue ran before this one; kNoNode: none.
  trace::NodeId before(trace::NodeId n) const { return before_[n]; }

 private:
  struct Queue {
    bool busy = false;
    /// Of a group's queue: its collectives, by index in the group, which run strictly in this order.
    std::vector<uint32_t> order;
    size_t next = 0;                                   ///< into order: the one that is due
    trace::NodeId last = trace::kNoNode;               ///< that it ran
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

/// What a queue is called: "thread 3235", "device 0 stream 7", "CPU", "compute", "memory", "sends"; "receives" for
/// `queue` == fixed(), where nodes without a queue are shown. Requires a queue up to there.
std::string queue_name(const trace::Trace& trace, uint32_t queue);

}  // namespace chakra::feed
