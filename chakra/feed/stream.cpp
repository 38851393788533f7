#include "chakra/feed/stream.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "chakra/feed/ids.h"
#include "chakra/feed/spill.h"
#include "chakra/feed/window.h"

namespace chakra::feed {
namespace {

using trace::StreamedNode;

constexpr uint64_t kMostExplained = 2'000'000;  ///< waiting nodes among which a cycle is looked for

Failure dangling(uint64_t node, uint64_t dep) {
  return fail(Code::bad_input, "feed.dep.dangling",
              fmt::format("node {} waits for node {}, which is missing; run 'chakra check' to list all missing nodes",
                          node, dep));
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
  Window window{options, ids};
  Spill spill;
  std::deque<uint64_t> woken;      ///< lists on disk whose id is done
  std::vector<uint32_t> settling;  ///< slots that done() looks at
  uint64_t running = 0, waiting_on_disk = 0;
  FeedStats stats;  ///< but for the window's peak

  struct Missing {
    std::optional<uint64_t> id;
    bool only = false;  ///< all others are done
  };
  /// A dependency that is not done, one that has not even been read before others; none if all are done.
  Result<Missing> missing(const StreamedNode& node) const {
    Missing found;
    size_t count = 0;
    bool unread = false;
    for (const uint64_t dep : node.deps) {
      const Ids::Is state = ids.state(dep);
      if (state == Ids::Is::done) continue;
      if (state == Ids::Is::unknown && ended) return dangling(node.id, dep);
      ++count;
      if (unread) continue;
      unread = state == Ids::Is::unknown;
      found.id = dep;
    }
    found.only = count == 1;
    return found;
  }
  /// Whether a node of the window is ready.
  Result<void> settle(uint32_t slot) {
    CHAKRA_ASSIGN(const Missing dep, missing(window[slot].node));
    if (dep.id) window.watch(slot, *dep.id, dep.only);
    else window.make_ready(slot);
    return {};
  }

  // ---- reading and disk ------------------------------------------------------------------------------

  Result<void> arrive(StreamedNode&& node) {
    if (!ids.see(node.id)) return fail(Code::bad_input, "feed.id.duplicate", fmt::format("duplicate node {}", node.id));
    const uint32_t slot = window.add(std::move(node), stats.read);
    ++stats.read;
    return settle(slot);
  }

  /// At the end of the file, all that is waited for must have been read.
  Result<void> end() {
    ended = true;
    std::optional<std::pair<uint64_t, uint64_t>> first;  // waited for, who waits
    ids.each_watched([&](uint64_t id, uint32_t slot) {
      if (!ids.seen(id) && (!first || id < first->first)) first = {id, window[slot].node.id};
    });
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
    CHAKRA_ASSIGN(const Missing dep, missing(node));
    if (dep.id) {
      CHAKRA_TRY(spill.set_next(place, ids.waiting(*dep.id)));
      ids.set_waiting(*dep.id, place);
    } else {
      --waiting_on_disk;
      window.make_ready(window.add(std::move(node), stats.read));
    }
    return {};
  }

  /// All in the window waits, and the window is full: to disk with it.
  Result<void> spill_window() {
    const std::vector<uint32_t> waiting = window.all_waiting();
    for (const uint32_t slot : waiting) {
      const Slot& s = window[slot];
      CHAKRA_ASSIGN(const uint64_t place, spill.append(s.node, ids.waiting(s.watched)));
      ids.set_waiting(s.watched, place);
      window.release(slot);
    }
    window.forget_watchers();
    stats.spilled += waiting.size();
    waiting_on_disk += waiting.size();
    return spill.flush();
  }

  /// Whether the policy must know nodes that are still unread. In the order of the file, none precedes a ready node.
  bool reads_ahead() const { return options.policy != Policy::file || !window.has_ready(); }

  /// Fills the window up to the budget, or to what the policy must know.
  Result<void> fill() {
    while (window.bytes() < options.budget_bytes && reads_ahead()) {
      if (!woken.empty()) CHAKRA_TRY(examine_woken());
      else if (!ended) CHAKRA_TRY(read_one());
      else break;
    }
    return {};
  }

  // ---- what the feeder does --------------------------------------------------------------------------------

  Result<const StreamedNode*> next() {
    // The window is refilled when half of it is free, so that what is done for all of it is done seldom.
    if (!window.has_ready() || window.bytes() < options.budget_bytes / 2) CHAKRA_TRY(fill());
    while (!window.has_ready()) {
      if (!woken.empty()) {
        CHAKRA_TRY(examine_woken());
        continue;
      }
      if (running > 0) return nullptr;
      if (ended) {
        if (window.waiting() + waiting_on_disk > 0) return explain_cycle();
        return nullptr;
      }
      CHAKRA_TRY(spill_window());
      CHAKRA_TRY(read_one());
      CHAKRA_TRY(fill());
    }
    ++running;
    return &window[window.take()].node;
  }

  Result<uint32_t> running_slot(uint64_t id) const {
    const uint32_t slot = window.find_running(id);
    if (slot == Window::kNoSlot)
      return fail(Code::usage, "feed.not_running", fmt::format("node {} is not running", id));
    return slot;
  }

  Result<void> done(uint64_t id) {
    CHAKRA_ASSIGN(const uint32_t slot, running_slot(id));
    window.release(slot);
    --running;
    ids.finish(id);
    ++stats.done;
    window.stop_watching(id, settling);
    for (const uint32_t w : settling)
      if (window[w].only) window.make_ready(w);
      else if (auto settled = settle(w); !settled) return keep(settled.error());
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

  Failure explain_cycle() {
    const uint64_t left = window.waiting() + waiting_on_disk;
    const auto cycle = [&](std::string text) { return fail(Code::bad_input, "feed.dep.cycle", std::move(text)); };
    if (left > kMostExplained)
      return cycle(fmt::format("{} nodes wait for each other; run 'chakra check' to see the cycle", left));
    absl::flat_hash_map<uint64_t, uint64_t> waits_for;
    for (const uint32_t slot : window.all_waiting()) waits_for[window[slot].node.id] = window[slot].watched;
    std::optional<Error> wrong;
    ids.for_each_waited([&](uint64_t id, uint64_t place) {
      while (place != 0 && !wrong) {
        StreamedNode node;
        const auto next = spill.read(place, node);
        if (!next) wrong = next.error();
        else waits_for[node.id] = id, place = *next;
      }
    });
    if (wrong) return Failure(*wrong);
    uint64_t id = UINT64_MAX;
    for (const auto& [node, dep] : waits_for) id = std::min(id, node);
    for (size_t i = 0; i < waits_for.size(); ++i) id = waits_for[id];  // now it is on a cycle
    uint64_t length = 1, lowest = id;
    for (uint64_t n = waits_for[id]; n != id; n = waits_for[n]) lowest = std::min(lowest, n), ++length;
    return cycle(
        fmt::format("node {} waits for node {}, and so on in a cycle of {} node{} back to it; {} nodes are left",
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
  if (s.error) return Failure(*s.error);
  auto node = s.next();
  if (!node) s.error = node.error();
  return node;
}
Result<void> StreamFeeder::done(uint64_t id) { return state_->done(id); }
Result<void> StreamFeeder::put_back(uint64_t id) {
  State& s = *state_;
  CHAKRA_ASSIGN(const uint32_t slot, s.running_slot(id));
  --s.running;
  s.window.put_back(slot);
  return {};
}
Result<void> StreamFeeder::add(StreamedNode node) {
  State& s = *state_;
  if (s.error) return Failure(*s.error);
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
  const Window& window = state_->window;
  const uint32_t slot = window.find(id);
  return slot == Window::kNoSlot ? nullptr : &window[slot].node;
}
FeedStats StreamFeeder::stats() const {
  FeedStats stats = state_->stats;
  stats.window_peak = state_->window.peak();
  return stats;
}

}  // namespace chakra::feed
