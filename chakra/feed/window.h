// The nodes of a StreamFeeder that are in memory: those that wait, by what they wait for; those that are ready, by the
// order of the policy; those that run. Inside feed.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "chakra/feed/stream.h"

namespace chakra::feed {

/// A place in the window.
struct Slot {
  enum class Is : uint8_t { free, waiting, ready, running } is = Is::free;
  trace::StreamedNode node;
  int64_t key = 0;             ///< the lowest goes first
  uint64_t order = 0;          ///< among equal keys
  uint64_t arrived = 0;        ///< how many were read before
  uint64_t watched = 0;        ///< waiting: a dependency that is not done
  uint32_t next = UINT32_MAX;  ///< waiting: who else waits for it
  uint64_t bytes = 0;
};

/// Slots that stay where they are, in blocks so large that the list of blocks stays in the processor's cache.
class Slots {
 public:
  uint32_t size() const { return size_; }
  Slot& operator[](uint32_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const Slot& operator[](uint32_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  /// Returns the new one.
  uint32_t grow() {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<Slot[]>(kBlock));
    return size_++;
  }

 private:
  static constexpr uint32_t kBlock = 1024;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
  uint32_t size_ = 0;
};

class Window {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  /// The options must outlive it.
  explicit Window(const FeedOptions& options) : options_(options) {}

  const Slot& operator[](uint32_t slot) const { return slots_[slot]; }
  uint64_t bytes() const { return bytes_; }
  uint64_t peak() const { return peak_; }        ///< of bytes
  uint64_t waiting() const { return waiting_; }  ///< nodes
  bool has_ready() const { return !heap_.empty(); }
  uint32_t find(uint64_t id) const {
    const auto found = live_.find(id);
    return found == live_.end() ? kNoSlot : found->second;
  }

  /// `arrived`: nodes that were read before. To be followed by watch() or make_ready().
  uint32_t add(trace::StreamedNode&& node, uint64_t arrived);
  void release(uint32_t slot);

  /// The node waits for `id`.
  void watch(uint32_t slot, uint64_t id);
  /// Those that watch `id` do so no more; in the order in which they arrived.
  std::vector<uint32_t> stop_watching(uint64_t id);
  void make_ready(uint32_t slot);
  /// A running node is ready again, in its old place.
  void put_back(uint32_t slot) {
    slots_[slot].is = Slot::Is::ready;
    push_ready(slot);
  }
  /// The first node in the order of the policy runs. Requires has_ready().
  uint32_t take();

  /// In the order in which they arrived. Cost: O(window log window).
  std::vector<uint32_t> all_waiting() const;
  /// Forgets who watches whom. Requires that no node waits.
  void forget_watchers() {
    watchers_.clear();
    waiting_ = 0;
  }
  /// use(id, slot): each id that is watched, and one of those that watch it, in any order.
  template <class Use>
  void each_watched(const Use& use) const {
    for (const auto& [id, slot] : watchers_) use(id, slot);
  }

 private:
  struct Entry {
    int64_t key;
    uint64_t order;
    uint32_t slot;
    bool operator<(const Entry& other) const {  // std heaps have the largest on top
      return key != other.key ? key > other.key : order > other.order;
    }
  };

  void push_ready(uint32_t slot);
  void rank();
  void sort_by_arrival(std::vector<uint32_t>& slots) const;

  const FeedOptions& options_;
  Slots slots_;
  std::vector<uint32_t> free_;
  absl::flat_hash_map<uint64_t, uint32_t> live_;      ///< id -> slot
  absl::flat_hash_map<uint64_t, uint32_t> watchers_;  ///< id -> first slot of those that wait for it
  std::vector<Entry> heap_;                           ///< ready nodes
  uint64_t bytes_ = 0, peak_ = 0, waiting_ = 0;
  uint64_t became_ready_ = 0;
  uint64_t unranked_ = 0;  ///< critical path: nodes that came since rank()
};

}  // namespace chakra::feed
