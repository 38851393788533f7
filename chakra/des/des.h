// The clock and the event queue of every simulation: events come out by time, and events
// of equal time in the order of insertion, so that a run is identical on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::des {

/// Return the error sim.time: the job lasts kLongestPs or longer.
Failure too_long();

/// A queue of events, with the requirement that no event is pushed before the time of the last event popped.
/// The queue is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: "Faster algorithms for the shortest path
/// problem", 1990): an event stands in bucket b if b - 1 is the highest bit in which its time differs from the
/// time popped last, in bucket 0 if no bit differs. When bucket 0 is used up, the events of the lowest other
/// bucket move to the buckets below. Events of one time are always in one bucket, which keeps their order.
/// Cost: push O(1), pop O(64) amortised; events of one time, or of few, cost little.
template <class Payload>
class EventQueue {
 public:
  void push(Picoseconds time, Payload payload) {
    CHAKRA_ASSERT(time >= last_);  // the past is over
    place(time, std::move(payload));
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  Picoseconds next_time() const {
    return next_ < due_.size() ? last_ : buckets_[static_cast<size_t>(std::countr_zero(occupied_))].earliest;
  }
  /// Return the time of the event popped last.
  Picoseconds now() const { return now_; }

  Payload pop() {
    if (next_ == due_.size()) refill();
    now_ = last_;
    --size_;
    return std::move(due_[next_++]);
  }

 private:
  struct Event {
    Picoseconds time;
    Payload payload;
  };
  struct Bucket {
    std::vector<Event> events;
    Picoseconds earliest = INT64_MAX;
  };

  void place(Picoseconds time, Payload payload) {
    const uint64_t differs = static_cast<uint64_t>(time) ^ static_cast<uint64_t>(last_);
    if (differs == 0) {
      due_.push_back(std::move(payload));
      return;
    }
    const auto b = static_cast<size_t>(63 - std::countl_zero(differs));
    Bucket& bucket = buckets_[b];
    bucket.events.push_back({time, std::move(payload)});
    bucket.earliest = std::min(bucket.earliest, time);
    occupied_ |= uint64_t{1} << b;
  }

  void refill() {
    due_.clear();
    next_ = 0;
    const auto b = static_cast<size_t>(std::countr_zero(occupied_));
    Bucket& bucket = buckets_[b];
    occupied_ &= occupied_ - 1;
    last_ = bucket.earliest;
    bucket.earliest = INT64_MAX;
    if (bucket.events.size() == 1) due_.push_back(std::move(bucket.events[0].payload));
    else
      for (Event& event : bucket.events)
        place(event.time, std::move(event.payload));  // all into buckets below this one
    bucket.events.clear();
  }

  std::vector<Payload> due_;  ///< bucket 0: events at last_, from next_ on
  size_t next_ = 0;
  std::array<Bucket, 64> buckets_;  ///< buckets 1 .. 64
  uint64_t occupied_ = 0;           ///< buckets that hold events
  Picoseconds last_ = INT64_MIN;    ///< no earlier event is left
  size_t size_ = 0;
  Picoseconds now_ = 0;
};

}  // namespace chakra::des
