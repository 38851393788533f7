// The nodes of a StreamFeeder in memory: waiting nodes by dependency,
// ready nodes in the order of the policy, and running nodes. Inside feed.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chakra/feed/ids.h"
#include "chakra/feed/stream.h"

namespace chakra::feed {

/// A place in the window.
struct Slot {
  enum class Is : uint8_t { free, waiting, ready, running } is = Is::free;
  bool only = false;           ///< waiting: all other dependencies are done
  uint32_t next = UINT32_MAX;  ///< waiting: next slot that waits for the same id
  int64_t key = 0;             ///< the lowest goes first
  uint64_t order = 0;          ///< among equal keys
  uint64_t arrived = 0;        ///< number of nodes read before
  uint64_t watched = 0;        ///< waiting: an unfinished dependency
  uint64_t bytes = 0;
  trace::StreamedNode node;
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

  /// The options and the ids, which list the watchers, must outlive this object.
  Window(const FeedOptions& options, Ids& ids) : options_(options), ids_(ids) {}

  const Slot& operator[](uint32_t slot) const { return slots_[slot]; }
  uint64_t bytes() const { return bytes_; }
  uint64_t peak() const { return peak_; }        ///< of bytes
  uint64_t waiting() const { return waiting_; }  ///< nodes
  bool has_ready() const { return !heap_.empty(); }
  /// The slot of a node of the window. Cost: O(window) in the first call, which makes the index that later calls use.
  uint32_t find(uint64_t id) const { return slot_in(index(), id); }
  uint32_t find_running(uint64_t id) const {
    return running_.last != kNoSlot && slots_[running_.last].node.id == id ? running_.last
                                                                           : slot_in(running_.others, id);
  }

  /// Add a node. `arrived`: number of nodes read before. Must be followed by watch() or make_ready().
  uint32_t add(trace::StreamedNode&& node, uint64_t arrived);
  void release(uint32_t slot);

  /// Make the node wait for `id`. `only`: all its other dependencies are done.
  void watch(uint32_t slot, uint64_t id, bool only);
  /// Remove the slots that watch `id`, and list them in the order of their arrival.
  void stop_watching(uint64_t id, std::vector<uint32_t>& woken);
  void make_ready(uint32_t slot);
  /// Make a running node ready again, in its old place.
  void put_back(uint32_t slot) {
    slots_[slot].is = Slot::Is::ready;
    stop_running(slot);
    push_ready(slot);
  }
  /// Run the first node in the order of the policy. Requires has_ready().
  uint32_t take();

  /// Return all waiting slots in the order of their arrival. Cost: O(window log window).
  std::vector<uint32_t> all_waiting() const;
  /// Clear all watchers. Requires that no node waits.
  void forget_watchers() {
    ids_.forget_watchers();
    waiting_ = 0;
  }

 private:
  using SlotById = absl::flat_hash_map<uint64_t, uint32_t>;
  /// Most users finish the node that they took last.
  struct Running {
    uint32_t last = kNoSlot;
    SlotById others;
  };
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
  void stop_running(uint32_t slot);
  void rank();
  void sort_by_arrival(std::vector<uint32_t>& slots) const;

  const FeedOptions& options_;
  Ids& ids_;
  Slots slots_;
  std::vector<uint32_t> free_;
  Running running_;
  std::vector<Entry> heap_;                ///< ready nodes
  mutable std::optional<SlotById> index_;  ///< all nodes, for find() and rank() alone
  uint64_t bytes_ = 0, peak_ = 0, waiting_ = 0;
  uint64_t became_ready_ = 0;
  uint64_t unranked_ = 0;  ///< critical path: nodes added since rank()
};

}  // namespace chakra::feed
