// The clock and the event queue of every simulation: events come out by time, and among equal times in
// the order in which they went in, so a run is the same on every machine.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::des {

/// Requires that nothing is pushed before the time of the last event popped.
/// Events of one time are kept together, in order, and only times are in the heap: machines that run alike
/// have thousands of events at each. Cost: O(1) for an event at a time that is there already, O(log times) else.
template <class Payload>
class EventQueue {
 public:
  void push(Picoseconds time, Payload payload) {
    if (time != last_time_ || last_ == kNone) {
      const auto [found, added] = open_.try_emplace(time, 0);
      if (added) {
        found->second = new_bucket();
        heap_.push_back({time, found->second});
        std::push_heap(heap_.begin(), heap_.end(), later);
      }
      last_time_ = time;
      last_ = found->second;
    }
    buckets_[last_].events.push_back(std::move(payload));
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  Picoseconds next_time() const { return heap_.front().time; }
  /// The time of the event popped last.
  Picoseconds now() const { return now_; }

  Payload pop() {
    now_ = heap_.front().time;
    const uint32_t number = heap_.front().bucket;
    Bucket& bucket = buckets_[number];
    Payload payload = std::move(bucket.events[bucket.next++]);
    --size_;
    if (bucket.next == bucket.events.size()) {
      bucket.events.clear();
      bucket.next = 0;
      unused_.push_back(number);
      open_.erase(now_);
      if (last_ == number) last_ = kNone;
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    }
    return payload;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Bucket {
    std::vector<Payload> events;
    size_t next = 0;
  };
  struct Entry {
    Picoseconds time;
    uint32_t bucket;
  };
  static bool later(const Entry& a, const Entry& b) { return a.time > b.time; }

  uint32_t new_bucket() {
    if (unused_.empty()) {
      buckets_.emplace_back();
      return static_cast<uint32_t>(buckets_.size() - 1);
    }
    const uint32_t number = unused_.back();
    unused_.pop_back();
    return number;
  }

  std::vector<Bucket> buckets_;
  std::vector<uint32_t> unused_;
  std::vector<Entry> heap_;                         ///< one per time
  absl::flat_hash_map<Picoseconds, uint32_t> open_;  ///< time -> bucket
  Picoseconds last_time_ = 0;
  uint32_t last_ = kNone;  ///< the bucket of last_time_, pushed to last
  size_t size_ = 0;
  Picoseconds now_ = 0;
};

}  // namespace chakra::des
