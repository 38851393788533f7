#include "chakra/feed/window.h"

#include <algorithm>

namespace chakra::feed {
namespace {

uint64_t bytes_of(const trace::StreamedNode& node) {
  constexpr uint64_t kShares = 72;  // in the ids, the maps and the heap
  return sizeof(Slot) + kShares + node.message.capacity() + node.deps.capacity() * sizeof(uint64_t);
}

}  // namespace

uint32_t Window::add(trace::StreamedNode&& node, uint64_t arrived) {
  uint32_t slot;
  if (free_.empty()) {
    slot = slots_.grow();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Slot& s = slots_[slot];
  s.node = std::move(node);
  s.bytes = bytes_of(s.node);
  s.arrived = arrived;
  s.next = kNoSlot;
  s.key = 0;
  if (options_.policy == Policy::user && options_.priority) s.key = options_.priority(s.node);
  else if (options_.policy == Policy::critical_path) s.key = -s.node.duration, ++unranked_;
  bytes_ += s.bytes;
  peak_ = std::max(peak_, bytes_);
  if (index_) (*index_)[s.node.id] = slot;
  return slot;
}

void Window::release(uint32_t slot) {
  Slot& s = slots_[slot];
  bytes_ -= s.bytes;
  if (index_) index_->erase(s.node.id);
  if (s.is == Slot::Is::running) stop_running(slot);
  s.node = {};
  s.is = Slot::Is::free;
  free_.push_back(slot);
}

void Window::watch(uint32_t slot, uint64_t id, bool only) {
  Slot& s = slots_[slot];
  s.is = Slot::Is::waiting;
  s.only = only;
  s.watched = id;
  static_assert(Ids::kNoWatcher == kNoSlot);
  s.next = ids_.watch(id, slot);
  ++waiting_;
}

void Window::stop_watching(uint64_t id, std::vector<uint32_t>& woken) {
  woken.clear();
  for (uint32_t w = ids_.stop_watching(id); w != kNoSlot; w = slots_[w].next) woken.push_back(w);
  waiting_ -= woken.size();
  if (woken.size() > 1) sort_by_arrival(woken);
}

void Window::make_ready(uint32_t slot) {
  Slot& s = slots_[slot];
  s.is = Slot::Is::ready;
  switch (options_.policy) {
    case Policy::fifo: s.order = became_ready_; break;
    case Policy::file: s.order = s.arrived; break;
    default: s.order = s.node.id;
  }
  ++became_ready_;
  push_ready(slot);
}

void Window::push_ready(uint32_t slot) {
  const Slot& s = slots_[slot];
  heap_.push_back({s.key, s.order, slot});
  std::push_heap(heap_.begin(), heap_.end());
}

uint32_t Window::take() {
  if (unranked_ > (slots_.size() - free_.size()) / 4) rank();
  std::pop_heap(heap_.begin(), heap_.end());
  const uint32_t slot = heap_.back().slot;
  heap_.pop_back();
  slots_[slot].is = Slot::Is::running;
  if (running_.last != kNoSlot) running_.others[slots_[running_.last].node.id] = running_.last;
  return running_.last = slot;
}

void Window::stop_running(uint32_t slot) {
  if (slot == running_.last) running_.last = kNoSlot;
  else running_.others.erase(slots_[slot].node.id);
}

const Window::SlotById& Window::index() const {
  if (index_) return *index_;
  index_.emplace();
  for (uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].is != Slot::Is::free) (*index_)[slots_[slot].node.id] = slot;
  return *index_;
}

std::vector<uint32_t> Window::all_waiting() const {
  std::vector<uint32_t> waiting;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].is == Slot::Is::waiting) waiting.push_back(slot);
  sort_by_arrival(waiting);
  return waiting;
}

void Window::sort_by_arrival(std::vector<uint32_t>& slots) const {
  std::sort(slots.begin(), slots.end(), [&](uint32_t a, uint32_t b) { return slots_[a].arrived < slots_[b].arrived; });
}

/// The longest path of durations from each node of the window to the window's end, as key. Cost: O(window).
void Window::rank() {
  unranked_ = 0;
  std::vector<uint32_t> dependants(slots_.size(), 0), sinks;
  std::vector<Picoseconds> behind(slots_.size(), 0);
  const auto each_dep = [&](const Slot& s, const auto& use) {
    for (const uint64_t dep : s.node.deps)
      if (const uint32_t found = find(dep); found != kNoSlot) use(found);
  };
  for (uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].is != Slot::Is::free) each_dep(slots_[slot], [&](uint32_t dep) { ++dependants[dep]; });
  for (uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].is != Slot::Is::free && dependants[slot] == 0) sinks.push_back(slot);
  while (!sinks.empty()) {
    const uint32_t slot = sinks.back();
    sinks.pop_back();
    Slot& s = slots_[slot];
    const Picoseconds path = add_saturated(behind[slot], s.node.duration);
    s.key = -path;
    each_dep(s, [&](uint32_t dep) {
      behind[dep] = std::max(behind[dep], path);
      if (--dependants[dep] == 0) sinks.push_back(dep);
    });
  }
  for (Entry& entry : heap_) entry.key = slots_[entry.slot].key;
  std::make_heap(heap_.begin(), heap_.end());
}

}  // namespace chakra::feed
