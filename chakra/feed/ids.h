// The state of every id of a trace: unknown, seen or done, and the place on disk of the first node
// that waits for the id. 64 neighbouring ids share a page, so dense ids take a few bits each.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace chakra::feed {

class Ids {
 public:
  enum class Is : uint8_t { unknown, seen, done };
  Is state(uint64_t id) const {
    const auto page = pages_.find(id / 64);
    if (page == pages_.end() || !(page->second.seen & bit(id))) return Is::unknown;
    return page->second.done & bit(id) ? Is::done : Is::seen;
  }
  bool seen(uint64_t id) const { return state(id) != Is::unknown; }
  bool done(uint64_t id) const { return state(id) == Is::done; }
  /// Mark an id as seen; return false if it was seen before.
  bool see(uint64_t id) {
    uint64_t& bits = pages_[id / 64].seen;
    return !(bits & bit(id)) && (bits |= bit(id), true);
  }
  void finish(uint64_t id) { pages_[id / 64].done |= bit(id); }

  /// Return place + 1 on disk of the first node that waits for `id`; 0: no node.
  uint64_t waiting(uint64_t id) const {
    const auto page = pages_.find(id / 64);
    return page == pages_.end() || !page->second.waiting ? 0 : (*page->second.waiting)[id % 64];
  }
  void set_waiting(uint64_t id, uint64_t place) {
    auto& waiting = pages_[id / 64].waiting;
    if (!waiting && place != 0) waiting = std::make_unique<std::array<uint64_t, 64>>();
    if (waiting) (*waiting)[id % 64] = place;
  }

  /// Call visit(id, place) for each id with waiting nodes on disk, in any order.
  template <class Visit>
  void for_each_waited(const Visit& visit) const {
    for (const auto& [number, page] : pages_)
      for (uint64_t i = 0; page.waiting && i < 64; ++i)
        if ((*page.waiting)[i] != 0) visit(number * 64 + i, (*page.waiting)[i]);
  }

 private:
  struct Page {
    uint64_t seen = 0, done = 0;
    std::unique_ptr<std::array<uint64_t, 64>> waiting;
  };
  static uint64_t bit(uint64_t id) { return uint64_t{1} << (id % 64); }

  absl::flat_hash_map<uint64_t, Page> pages_;
};

}  // namespace chakra::feed
