#include "chakra/feed/stream.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "chakra/feed/ids.h"
#include "chakra/feed/spill.h"

namespace chakra::feed {
namespace {

using trace::StreamedNode;

constexpr uint32_t kNoSlot = UINT32_MAX;
constexpr uint64_t kMostExplained = 2'000'000;  ///< waiting nodes among which a cycle is looked for

/// A place in the window.
struct Slot {
  enum class Is : uint8_t { free, waiting, ready, running } is = Is::free;
  StreamedNode node;
  int64_t key = 0;          ///< the lowest goes first
  uint64_t order = 0;       ///< among equal keys
  uint64_t arrived = 0;     ///< how many were read before
  uint64_t watched = 0;     ///< waiting: a dependency that is not done
  uint32_t next = kNoSlot;  ///< waiting: who else waits for it
  uint64_t bytes = 0;
};

struct Entry {
  int64_t key;
  uint64_t order;
  uint32_t slot;
  bool operator<(const Entry& other) const {  // std heaps have the largest on top
    return key != other.key ? key > other.key : order > other.order;
  }
};

uint64_t bytes_of(const StreamedNode& node) {
  constexpr uint64_t kMaps = 64;  // its shares in the maps and the heap
  return sizeof(Slot) + kMaps + node.message.capacity() + node.deps.capacity() * sizeof(uint64_t);
}

tl::unexpected<Error> dangling(uint64_t node, uint64_t dep) {
  return fail(
      Code::bad_input, "feed.dep.dangling",
      fmt::format("node {} waits for node {}, which is not there; run 'chakra check' for all of them", node, dep));
}

}  // namespace

struct StreamFeeder::State {
  State(trace::NodeSource from, FeedOptions given)
      : source(std::move(from)), options(std::move(given)), spill(options.spill_folder) {}

  trace::NodeSource source;
  FeedOptions options;
  bool ended = false;  ///< the source has no more nodes
  std::optional<Error> error;

  Ids ids;
  std::deque<Slot> slots;
  std::vector<uint32_t> free;
  absl::flat_hash_map<uint64_t, uint32_t> live;      ///< id -> slot
  absl::flat_hash_map<uint64_t, uint32_t> watchers;  ///< id -> first slot of those that wait for it
  std::vector<Entry> heap;                           ///< ready nodes
  Spill spill;
  std::deque<uint64_t> woken;  ///< lists on disk whose id is done
  uint64_t bytes = 0, running = 0, waiting_here = 0, waiting_on_disk = 0;
  uint64_t became_ready = 0, unranked = 0;
  FeedStats stats;

  // ---- the window ----------------------------------------------------------------------------------

  uint32_t take_slot(StreamedNode&& node) {
    uint32_t slot;
    if (free.empty()) {
      slot = static_cast<uint32_t>(slots.size());
      slots.emplace_back();
    } else {
      slot = free.back();
      free.pop_back();
    }
    Slot& s = slots[slot];
    s.node = std::move(node);
    s.bytes = bytes_of(s.node);
    s.arrived = stats.read;
    s.next = kNoSlot;
    s.key = 0;
    if (options.policy == Policy::user && options.priority) s.key = options.priority(s.node);
    else if (options.policy == Policy::critical_path) s.key = -s.node.duration, ++unranked;
    bytes += s.bytes;
    stats.window_peak = std::max(stats.window_peak, bytes);
    live[s.node.id] = slot;
    return slot;
  }
  void release(uint32_t slot) {
    Slot& s = slots[slot];
    bytes -= s.bytes;
    live.erase(s.node.id);
    s.node = {};
    s.is = Slot::Is::free;
    free.push_back(slot);
  }

  void make_ready(uint32_t slot) {
    Slot& s = slots[slot];
    s.is = Slot::Is::ready;
    s.order = options.policy == Policy::fifo ? became_ready : s.node.id;
    ++became_ready;
    push_ready(slot);
  }
  void push_ready(uint32_t slot) {
    const Slot& s = slots[slot];
    heap.push_back({s.key, s.order, slot});
    std::push_heap(heap.begin(), heap.end());
  }
  void watch(uint32_t slot, uint64_t id) {
    Slot& s = slots[slot];
    s.is = Slot::Is::waiting;
    s.watched = id;
    const auto [first, added] = watchers.try_emplace(id, slot);
    s.next = added ? kNoSlot : std::exchange(first->second, slot);
    ++waiting_here;
  }

  /// A dependency that is not done, one that has not even been read before others; none if all are done.
  Result<std::optional<uint64_t>> missing(const StreamedNode& node) const {
    std::optional<uint64_t> found;
    for (const uint64_t dep : node.deps) {
      const Ids::Is state = ids.state(dep);
      if (state == Ids::Is::unknown) {
        if (ended) return dangling(node.id, dep);
        return std::optional(dep);
      }
      if (state == Ids::Is::seen) found = dep;
    }
    return found;
  }
  /// Whether a node of the window is ready.
  Result<void> settle(uint32_t slot) {
    CHAKRA_ASSIGN(const std::optional<uint64_t> dep, missing(slots[slot].node));
    if (dep) watch(slot, *dep);
    else make_ready(slot);
    return {};
  }

  // ---- reading and disk ------------------------------------------------------------------------------

  Result<void> arrive(StreamedNode&& node) {
    if (!ids.see(node.id))
      return fail(Code::bad_input, "feed.id.duplicate", fmt::format("node {} is there twice", node.id));
    const uint32_t slot = take_slot(std::move(node));
    ++stats.read;
    return settle(slot);
  }

  /// At the end of the file, all that is waited for must have been read.
  Result<void> end() {
    ended = true;
    std::optional<std::pair<uint64_t, uint64_t>> first;  // waited for, who waits
    for (const auto& [id, slot] : watchers)
      if (!ids.seen(id) && (!first || id < first->first)) first = {id, slots[slot].node.id};
    std::optional<std::pair<uint64_t, uint64_t>> on_disk;  // waited for, place
    ids.for_each_waited([&](uint64_t id, uint64_t place) {
      if (!ids.seen(id) && (!on_disk || id < on_disk->first)) on_disk = {id, place};
    });
    if (on_disk && (!first || on_disk->first < first->first)) {
      StreamedNode node;
      CHAKRA_TRY(spill.read(on_disk->second, node));
      first = {on_disk->first, node.id};
    }
    if (first) return dangling(first->second, first->first);
    return {};
  }

  Result<void> read_one() {
    StreamedNode node;
    CHAKRA_ASSIGN(const bool more, source(node));
    return more ? arrive(std::move(node)) : end();
  }

  /// Takes the next node of a list on disk whose id is done.
  Result<void> examine_woken() {
    const uint64_t place = woken.front();
    StreamedNode node;
    CHAKRA_ASSIGN(const uint64_t next, spill.read(place, node));
    if (next != 0) woken.front() = next;
    else woken.pop_front();
    CHAKRA_ASSIGN(const std::optional<uint64_t> dep, missing(node));
    if (dep) {
      CHAKRA_TRY(spill.set_next(place, ids.waiting(*dep)));
      ids.set_waiting(*dep, place);
    } else {
      --waiting_on_disk;
      make_ready(take_slot(std::move(node)));
    }
    return {};
  }

  /// All in the window waits, and the window is full: to disk with it.
  Result<void> spill_window() {
    std::vector<uint32_t> waiting;
    for (uint32_t slot = 0; slot < slots.size(); ++slot)
      if (slots[slot].is == Slot::Is::waiting) waiting.push_back(slot);
    std::sort(waiting.begin(), waiting.end(),
              [&](uint32_t a, uint32_t b) { return slots[a].arrived < slots[b].arrived; });
    for (const uint32_t slot : waiting) {
      const Slot& s = slots[slot];
      CHAKRA_ASSIGN(const uint64_t place, spill.append(s.node, ids.waiting(s.watched)));
      ids.set_waiting(s.watched, place);
      release(slot);
    }
    watchers.clear();
    stats.spilled += waiting.size();
    waiting_on_disk += waiting.size();
    waiting_here = 0;
    return spill.flush();
  }

  /// Fills the window up to the budget.
  Result<void> fill() {
    for (;;) {
      if (bytes >= options.budget_bytes) break;
      if (!woken.empty()) CHAKRA_TRY(examine_woken());
      else if (!ended) CHAKRA_TRY(read_one());
      else break;
    }
    return {};
  }

  // ---- critical path -----------------------------------------------------------------------------------

  /// The longest path of durations from each node of the window to the window's end, as key. Cost: O(window).
  void rank() {
    unranked = 0;
    std::vector<uint32_t> dependants(slots.size(), 0), sinks;
    std::vector<Picoseconds> behind(slots.size(), 0);
    const auto each_dep = [&](const Slot& s, const auto& use) {
      for (const uint64_t dep : s.node.deps)
        if (const auto found = live.find(dep); found != live.end()) use(found->second);
    };
    for (const Slot& s : slots)
      if (s.is != Slot::Is::free) each_dep(s, [&](uint32_t dep) { ++dependants[dep]; });
    for (uint32_t slot = 0; slot < slots.size(); ++slot)
      if (slots[slot].is != Slot::Is::free && dependants[slot] == 0) sinks.push_back(slot);
    while (!sinks.empty()) {
      const uint32_t slot = sinks.back();
      sinks.pop_back();
      Slot& s = slots[slot];
      const Picoseconds path = add_saturated(behind[slot], s.node.duration);
      s.key = -path;
      each_dep(s, [&](uint32_t dep) {
        behind[dep] = std::max(behind[dep], path);
        if (--dependants[dep] == 0) sinks.push_back(dep);
      });
    }
    for (Entry& entry : heap) entry.key = slots[entry.slot].key;
    std::make_heap(heap.begin(), heap.end());
  }

  // ---- what the feeder does --------------------------------------------------------------------------------

  Result<const StreamedNode*> next() {
    // The window is refilled when half of it is free, so that what is done for all of it is done seldom.
    if (heap.empty() || bytes < options.budget_bytes / 2) CHAKRA_TRY(fill());
    while (heap.empty()) {
      if (!woken.empty()) {
        CHAKRA_TRY(examine_woken());
        continue;
      }
      if (running > 0) return nullptr;
      if (ended) {
        if (waiting_here + waiting_on_disk > 0) return explain_cycle();
        return nullptr;
      }
      CHAKRA_TRY(spill_window());
      do CHAKRA_TRY(read_one());
      while (!ended && bytes < options.budget_bytes);
    }
    if (unranked > live.size() / 4) rank();
    std::pop_heap(heap.begin(), heap.end());
    Slot& s = slots[heap.back().slot];
    heap.pop_back();
    s.is = Slot::Is::running;
    ++running;
    return &s.node;
  }

  Result<uint32_t> running_slot(uint64_t id) const {
    const auto found = live.find(id);
    if (found == live.end() || slots[found->second].is != Slot::Is::running)
      return fail(Code::usage, "feed.not_running", fmt::format("node {} is not running", id));
    return found->second;
  }

  Result<void> done(uint64_t id) {
    CHAKRA_ASSIGN(const uint32_t slot, running_slot(id));
    release(slot);
    --running;
    ids.finish(id);
    ++stats.done;
    if (const auto first = watchers.find(id); first != watchers.end()) {
      std::vector<uint32_t> woken_here;
      for (uint32_t w = first->second; w != kNoSlot; w = slots[w].next) woken_here.push_back(w);
      watchers.erase(first);
      waiting_here -= woken_here.size();
      std::sort(woken_here.begin(), woken_here.end(),
                [&](uint32_t a, uint32_t b) { return slots[a].arrived < slots[b].arrived; });
      for (const uint32_t w : woken_here)
        if (auto settled = settle(w); !settled) return keep(settled.error());
    }
    if (const uint64_t place = ids.waiting(id)) {
      ids.set_waiting(id, 0);
      woken.push_back(place);
    }
    return {};
  }

  /// An error of the trace that next() will give.
  Result<void> keep(const Error& wrong) {
    if (!error) error = wrong;
    return {};
  }

  tl::unexpected<Error> explain_cycle() {
    const uint64_t left = waiting_here + waiting_on_disk;
    const auto cycle = [&](std::string text) { return fail(Code::bad_input, "feed.dep.cycle", std::move(text)); };
    if (left > kMostExplained)
      return cycle(fmt::format("{} nodes wait for each other; run 'chakra check' to see the cycle", left));
    absl::flat_hash_map<uint64_t, uint64_t> waits_for;
    for (const Slot& s : slots)
      if (s.is == Slot::Is::waiting) waits_for[s.node.id] = s.watched;
    std::optional<Error> wrong;
    ids.for_each_waited([&](uint64_t id, uint64_t place) {
      while (place != 0 && !wrong) {
        StreamedNode node;
        const auto next = spill.read(place, node);
        if (!next) wrong = next.error();
        else waits_for[node.id] = id, place = *next;
      }
    });
    if (wrong) return tl::unexpected(*wrong);
    uint64_t id = UINT64_MAX;
    for (const auto& [node, dep] : waits_for) id = std::min(id, node);
    for (size_t i = 0; i < waits_for.size(); ++i) id = waits_for[id];  // now it is on a cycle
    uint64_t length = 1, lowest = id;
    for (uint64_t n = waits_for[id]; n != id; n = waits_for[n]) lowest = std::min(lowest, n), ++length;
    return cycle(
        fmt::format("node {} waits for node {}, and so on in a circle of {} node{} back to it; {} nodes are left",
                    lowest, waits_for[lowest], length, length == 1 ? "" : "s", left));
  }
};

StreamFeeder::StreamFeeder(trace::NodeSource source, FeedOptions options)
    : state_(std::make_unique<State>(std::move(source), std::move(options))) {}
StreamFeeder::StreamFeeder(StreamFeeder&&) noexcept = default;
StreamFeeder& StreamFeeder::operator=(StreamFeeder&&) noexcept = default;
StreamFeeder::~StreamFeeder() = default;

Result<const StreamedNode*> StreamFeeder::next() {
  State& s = *state_;
  if (s.error) return tl::unexpected(*s.error);
  auto node = s.next();
  if (!node) s.error = node.error();
  return node;
}
Result<void> StreamFeeder::done(uint64_t id) { return state_->done(id); }
Result<void> StreamFeeder::put_back(uint64_t id) {
  State& s = *state_;
  CHAKRA_ASSIGN(const uint32_t slot, s.running_slot(id));
  --s.running;
  s.slots[slot].is = Slot::Is::ready;
  s.push_ready(slot);
  return {};
}
Result<void> StreamFeeder::add(StreamedNode node) {
  State& s = *state_;
  if (s.error) return tl::unexpected(*s.error);
  if (s.ended)
    for (const uint64_t dep : node.deps)
      if (!s.ids.seen(dep)) return dangling(node.id, dep);
  return s.arrive(std::move(node));
}
bool StreamFeeder::finished() const {
  const State& s = *state_;
  return s.ended && !s.error && s.stats.done == s.stats.read;
}
uint64_t StreamFeeder::running() const { return state_->running; }
bool StreamFeeder::is_done(uint64_t id) const { return state_->ids.done(id); }
const StreamedNode* StreamFeeder::find(uint64_t id) const {
  const auto found = state_->live.find(id);
  return found == state_->live.end() ? nullptr : &state_->slots[found->second].node;
}
FeedStats StreamFeeder::stats() const { return state_->stats; }

}  // namespace chakra::feed
