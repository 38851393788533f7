// The clock and the event queue of every simulation: events come out by time, and among equal times in
// the order in which they went in, so a run is the same on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::des {

/// Requires that nothing is pushed before the time of the last event popped.
/// Cost: O(log n) for push and pop. Payload should be small: it is moved within the heap.
template <class Payload>
class EventQueue {
 public:
  void push(Picoseconds time, Payload payload) {
    heap_.push_back({time, next_++, std::move(payload)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  Picoseconds next_time() const { return heap_.front().time; }
  /// The time of the event popped last.
  Picoseconds now() const { return now_; }

  Payload pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    now_ = heap_.back().time;
    Payload payload = std::move(heap_.back().payload);
    heap_.pop_back();
    return payload;
  }

 private:
  struct Entry {
    Picoseconds time;
    uint64_t sequence;
    Payload payload;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }

  std::vector<Entry> heap_;
  uint64_t next_ = 0;
  Picoseconds now_ = 0;
};

}  // namespace chakra::des
