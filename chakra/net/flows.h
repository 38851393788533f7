// The flows of a FluidNetwork, ordered by end.
#pragma once

#include <vector>

#include "chakra/base/pool.h"
#include "chakra/net/net.h"

namespace chakra::net {

struct Flow {
  static constexpr uint32_t kNone = UINT32_MAX;
  /// The place of this flow in the list of a link's flows.
  struct Use {
    uint32_t link;
    uint32_t place;
    double share;  ///< of the flow, on this link
  };

  Message message;
  uint64_t number = 0;   ///< in the order of sending
  double remaining = 0;  ///< bytes at the time `since`
  double rate = 0;       ///< bytes per second since then; 0: not yet set
  Picoseconds since = 0;
  Picoseconds end = kNever;
  Picoseconds latency = 0;
  std::vector<Use> uses;
  uint32_t heap_place = kNone;
  uint32_t visit = 0;      ///< the last search that visited this flow
  uint32_t local = 0;      ///< number within that search
  uint32_t whole = kNone;  ///< for a part of a message: the whole message
};

/// Flows with a rate form a heap by end, then by number; each stores its heap place, so that its end may change.
class Flows {
 public:
  Flow& operator[](uint32_t flow) { return flows_[flow]; }
  /// Return a flow with the values of a flow that was given back.
  uint32_t take() { return flows_.take_unused(); }
  void give_back(uint32_t flow) { flows_.drop(flow); }

  Picoseconds next_end() const { return heap_.empty() ? kNever : flows_[heap_.front()].end; }
  /// Add a flow to the heap, or restore the order after a new end. Cost: O(log flows).
  void end_changed(uint32_t flow) {
    if (flows_[flow].heap_place == Flow::kNone) {
      heap_.push_back(flow);
      settle(heap_.size() - 1, flow);
    } else {
      settle(flows_[flow].heap_place, flow);
    }
  }
  /// Take the flow that ends first out of the heap. Cost: O(log flows).
  uint32_t pop() {
    const uint32_t top = heap_.front(), last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) settle(0, last);
    flows_[top].heap_place = Flow::kNone;
    return top;
  }

 private:
  bool sooner(uint32_t a, uint32_t b) const {
    const Flow &fa = flows_[a], &fb = flows_[b];
    return fa.end != fb.end ? fa.end < fb.end : fa.number < fb.number;
  }
  void put(size_t place, uint32_t flow) {
    heap_[place] = flow;
    flows_[flow].heap_place = static_cast<uint32_t>(place);
  }
  void settle(size_t place, uint32_t flow) {
    while (place > 0 && sooner(flow, heap_[(place - 1) / 2])) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    for (size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
      if (child + 1 < heap_.size() && sooner(heap_[child + 1], heap_[child])) ++child;
      if (!sooner(heap_[child], flow)) break;
      put(place, heap_[child]);
    }
    put(place, flow);
  }

  Pool<Flow> flows_;
  std::vector<uint32_t> heap_;
};

}  // namespace chakra::net
