// The nodes of a StreamFeeder in memory: waiting nodes by dependency,
// ready nodes in the order of the policy, and running nodes. Inside feed.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
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
  uint64_t arrived = 0;        ///< number of nodes read before
  uint64_t watched = 0;        ///< waiting: an unfinished dependency
  uint32_t next = UINT32_MAX;  ///< waiting: next slot that waits for the same id
  uint64_t bytes = 0;
};

/// Slots with stable addresses, in blocks so large that the list of blocks stays in the processor's cache.
class Slots {
 public:
  uint32_t size() const { return size_; }
  Slot& operator[](uint32_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const Slot& operator[](uint32_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  /// Add a slot and return its index.
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

  /// The options must outlive this object.
  explicit Window(const FeedOptions& options) : options_(options) {}

  const Slot& operator[](uint32_t slot) const { return slots_[slot]; }
  uint64_t bytes() const { return bytes_; }
  uint64_t peak() const { return peak_; }        ///< of bytes
  uint64_t waiting() const { return waiting_; }  ///< nodes
  bool has_ready() const { return !heap_.empty(); }
  /// The slot of a node of the window. Cost: O(window) in the first call, which makes the index that later calls use.
  uint32_t find(uint64_t id) const { return slot_in(index(), id); }
  uint32_t find_running(uint64_t id) const { return slot_in(running_, id); }

  /// Add a node. `arrived`: number of nodes read before. Must be followed by watch() or make_ready().
  uint32_t add(trace::StreamedNode&& node, uint64_t arrived);
  void release(uint32_t slot);

  /// Make the node wait for `id`.
  void watch(uint32_t slot, uint64_t id);
  /// Remove and return the slots that watch `id`, in the order of their arrival.
  std::vector<uint32_t> stop_watching(uint64_t id);
  void make_ready(uint32_t slot);
  /// Make a running node ready again, in its old place.
  void put_back(uint32_t slot) {
    slots_[slot].is = Slot::Is::ready;
    running_.erase(slots_[slot].node.id);
    push_ready(slot);
  }
  /// Run the first node in the order of the policy. Requires has_ready().
  uint32_t take();

  /// Return all waiting slots in the order of their arrival. Cost: O(window log window).
  std::vector<uint32_t> all_waiting() const;
  /// Clear all watchers. Requires that no node waits.
  void forget_watchers() {
    watchers_.clear();
    waiting_ = 0;
  }
  /// Call use(id, slot) for each watched id, with one of its watchers, in any order.
  template <class Use>
  void each_watched(const Use& use) const {
    for (const auto& [id, slot] : watchers_) use(id, slot);
  }

 private:
  using SlotById = absl::flat_hash_map<uint64_t, uint32_t>;
  struct Entry {
    int64_t key;
    uint64_t order;
    uint32_t slot;
    bool operator<(const Entry& other) const {  // std heaps have the largest on top
      return key != other.key ? key > other.key : order > other.order;
    }
  };

  static uint32_t slot_in(const SlotById& slots, uint64_t id) {
    const auto found = slots.find(id);
    return found == slots.end() ? kNoSlot : found->second;
  }
  const SlotById& index() const;
  void push_ready(uint32_t slot);
  void rank();
  void sort_by_arrival(std::vector<uint32_t>& slots) const;

  const FeedOptions& options_;
  Slots slots_;
  std::vector<uint32_t> free_;
  SlotById running_;
  SlotById watchers_;                      ///< id -> first slot that waits for it
  std::vector<Entry> heap_;                ///< ready nodes
  mutable std::optional<SlotById> index_;  ///< all nodes, for find() and rank() alone
  uint64_t bytes_ = 0, peak_ = 0, waiting_ = 0;
  uint64_t became_ready_ = 0;
  uint64_t unranked_ = 0;  ///< critical path: nodes added since rank()
};

}  // namespace chakra::feed
