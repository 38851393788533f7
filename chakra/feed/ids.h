// The state of every id of a trace: unknown, seen or done, and the first node that waits for the id, in the window and
// on disk. 64 neighbouring ids share a page, so dense ids take a few bits each, and those that nodes of the window wait
// for a few bytes.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace chakra::feed {

class Ids {
 public:
  enum class Is : uint8_t { unknown, seen, done };
  Is state(uint64_t id) const {
    const Page* const page = find(id);
    if (!page || !(page->seen & bit(id))) return Is::unknown;
    return page->done & bit(id) ? Is::done : Is::seen;
  }
  bool seen(uint64_t id) const { return state(id) != Is::unknown; }
  bool done(uint64_t id) const { return state(id) == Is::done; }
  /// Mark an id as seen; return false if it was seen before.
  bool see(uint64_t id) {
    uint64_t& bits = page(id).seen;
    return !(bits & bit(id)) && (bits |= bit(id), true);
  }
  void finish(uint64_t id) { page(id).done |= bit(id); }

  /// Return place + 1 on disk of the first node that waits for `id`; 0: no node.
  uint64_t waiting(uint64_t id) const {
    const Page* const page = find(id);
    return !page || !page->waiting ? 0 : (*page->waiting)[id % 64];
  }
  void set_waiting(uint64_t id, uint64_t place) {
    auto& waiting = page(id).waiting;
    if (!waiting && place != 0) waiting = std::make_unique<std::array<uint64_t, 64>>();
    if (waiting) (*waiting)[id % 64] = place;
  }

  static constexpr uint32_t kNoWatcher = UINT32_MAX;
  /// Make a slot of the window the first that waits for `id`; return the one before, or kNoWatcher.
  uint32_t watch(uint64_t id, uint32_t slot) {
    Page& p = page(id);
    if (p.watched & bit(id)) return std::exchange(p.watchers[static_cast<size_t>(p.place(id))], slot);
    p.watchers.insert(p.watchers.begin() + p.place(id), slot);
    p.watched |= bit(id);
    return kNoWatcher;
  }
  /// Remove and return the first slot that waits for `id`, or kNoWatcher.
  uint32_t stop_watching(uint64_t id) {
    Page* const p = find(id);
    if (!p || !(p->watched & bit(id))) return kNoWatcher;
    const auto at = p->watchers.begin() + p->place(id);
    const uint32_t slot = *at;
    p->watchers.erase(at);
    p->watched &= ~bit(id);
    if (p->watched == 0) p->watchers = {};
    return slot;
  }
  /// Call visit(id, slot) for each id that slots of the window wait for, in any order.
  template <class Visit>
  void each_watched(const Visit& visit) const {
    for (const auto& [number, page] : pages_)
      for (uint64_t i = 0; page->watched != 0 && i < 64; ++i)
        if (page->watched & bit(i)) visit(number * 64 + i, page->watchers[static_cast<size_t>(page->place(i))]);
  }
  void forget_watchers() {
    for (const auto& [number, page] : pages_) {
      page->watched = 0;
      page->watchers = {};
    }
  }

  /// Call visit(id, place) for each id with waiting nodes on disk, in any order.
  template <class Visit>
  void for_each_waited(const Visit& visit) const {
    for (const auto& [number, page] : pages_)
      for (uint64_t i = 0; page->waiting && i < 64; ++i)
        if ((*page->waiting)[i] != 0) visit(number * 64 + i, (*page->waiting)[i]);
  }

 private:
  struct Page {
    uint64_t seen = 0, done = 0;
    uint64_t watched = 0;
    std::vector<uint32_t> watchers;  ///< of the watched ids, by id
    std::unique_ptr<std::array<uint64_t, 64>> waiting;

    /// The number of watched ids of the page before this one.
    ptrdiff_t place(uint64_t id) const { return std::popcount(watched & (bit(id) - 1)); }
  };
  static uint64_t bit(uint64_t id) { return uint64_t{1} << (id % 64); }

  /// Ids that follow each other are near as a rule: the page before is looked at first.
  Page* find(uint64_t id) const {
    if (last_ && last_number_ == id / 64) return last_;
    const auto found = pages_.find(id / 64);
    if (found == pages_.end()) return nullptr;
    last_number_ = id / 64;
    return last_ = found->second.get();
  }
  Page& page(uint64_t id) {
    if (Page* const found = find(id)) return *found;
    last_number_ = id / 64;
    return *(last_ = (pages_[id / 64] = std::make_unique<Page>()).get());
  }

  absl::flat_hash_map<uint64_t, std::unique_ptr<Page>> pages_;
  mutable uint64_t last_number_ = 0;
  mutable Page* last_ = nullptr;
};

}  // namespace chakra::feed
