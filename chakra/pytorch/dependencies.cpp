// The edges, and the items of the device. What a thread waited for turns the time it waited into an
// edge: the gap or call keeps only what came after the wait.
#include <fmt/format.h>

#include <algorithm>

#include "chakra/pytorch/linking.h"

namespace chakra::pytorch {
namespace {

using trace::EdgeKind;

// Rules where the recording is silent (docs/linking.md, "Threads" and "Hidden waits").
constexpr int64_t kHandoffNs = 100'000;     ///< shorter gaps are not looked at for a hand-over
constexpr int64_t kHiddenWaitNs = 100'000;  ///< shorter pieces are not looked at for a hidden wait
constexpr int64_t kHiddenWaitSlackNs = 10'000;
constexpr int64_t kBusyGapNs = 5'000;
constexpr int64_t kTailNs = 100'000;        ///< how long before its end a kernel may leave room for others

class Edges {
 public:
  explicit Edges(Linking& l) : l_(l), k_(l.kineto) {}

  void run() {
    waited_.assign(l_.items.size(), 0);
    add_device_items();
    add_syncs();
    find_comm_threads();
    find_handoffs();
    find_hidden_waits();
    for (const auto& chain : l_.chains)
      for (size_t i = 1; i < chain.size(); ++i) dep(chain[i], chain[i - 1], EdgeKind::program);
  }

 private:
  void dep(uint32_t item, uint32_t on, EdgeKind kind, bool inferred = false, int64_t lag = 0) {
    l_.deps.push_back({item, on, kind, inferred, lag});
  }
  Item& item(uint32_t id) { return l_.items[id]; }

  uint32_t add_item(Item::Kind kind, int64_t start, int64_t dur, uint32_t record, uint32_t lane) {
    Item added;
    added.kind = kind;
    added.start = start;
    added.dur = dur;
    added.record = record;
    added.lane = lane;
    l_.items.push_back(added);
    return static_cast<uint32_t>(l_.items.size() - 1);
  }

  // ---- device ------------------------------------------------------------------------------------

  void add_device_items() {
    l_.item_of_device_op.assign(k_.device_ops.size(), kNone);
    for (const auto& stream : l_.stream_ops)
      for (const uint32_t op : stream) {
        const DeviceOp& x = k_.device_ops[op];
        l_.item_of_device_op[op] = add_item(Item::Kind::device, x.start_ns, x.dur_ns, op, x.lane);
      }
    std::vector<int64_t> explained(k_.device_ops.size(), std::numeric_limits<int64_t>::min());
    const auto explain = [&](uint32_t op, int64_t time) { explained[op] = std::max(explained[op], time); };
    for (const EventEdge& event : l_.events) {
      const int64_t gap = l_.constants(event.op).dispatch_gap_ns;
      dep(l_.item_of_device_op[event.op], l_.item_of_device_op[event.on], EdgeKind::event, event.inferred, gap);
      explain(event.op, k_.device_ops[event.on].end_ns() + gap);
    }
    std::vector<uint32_t> by_end;
    for (const auto& stream : l_.stream_ops) by_end.insert(by_end.end(), stream.begin(), stream.end());
    std::sort(by_end.begin(), by_end.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(k_.device_ops[a].end_ns(), a) < std::pair(k_.device_ops[b].end_ns(), b);
    });
    int64_t initial = 0;
    for (const auto& stream : l_.stream_ops)
      for (const uint32_t op : stream) {
        const DeviceOp& x = k_.device_ops[op];
        const uint32_t self = l_.item_of_device_op[op];
        const LinkReport::Constants& constants = l_.constants(op);
        if (const uint32_t call = l_.call_of_op[op]; call != kNone && l_.roles[call].launch_item != kNone) {
          const CallRole& role = l_.roles[call];
          const int64_t latency = role.graph ? constants.graph_launch_ns : constants.launch_ns;
          dep(self, role.launch_item, EdgeKind::launch, false, latency);
          explain(op, item(role.launch_item).end() + latency);
          item(self).caller = l_.enclosing_op[call] != kNone ? l_.item_of_op[l_.enclosing_op[call]] : role.launch_item;
        }
        const uint32_t before = l_.previous[op];
        if (before != kNone) {
          dep(self, l_.item_of_device_op[before], EdgeKind::stream, false, constants.dispatch_gap_ns);
          explain(op, k_.device_ops[before].end_ns() + constants.dispatch_gap_ns);
        }
        if (before != kNone && x.start_ns > explained[op] + kUnexplainedNs)
          if (const uint32_t holder = held_up_by(op, explained[op], by_end); holder != kNone) {
            dep(self, l_.item_of_device_op[holder], EdgeKind::contention, true);
            explain(op, k_.device_ops[holder].end_ns());
          }
        // Work that was not recorded: before the first operation of a stream, or before one whose
        // launch was not recorded.
        if ((before == kNone || l_.call_of_op[op] == kNone) &&
            (explained[op] == std::numeric_limits<int64_t>::min() || x.start_ns > explained[op] + kUnexplainedNs)) {
          const uint32_t condition =
              add_item(Item::Kind::initial_condition, l_.begin_ns, x.start_ns - l_.begin_ns, op, x.lane);
          dep(self, condition, EdgeKind::stream, true);
          ++initial;
        }
      }
    if (l_.report.launched_before > 0)
      l_.find("pytorch.device.launched_before", Severity::note,
              fmt::format("{} device operations have no launch in the recording; they run in stream order "
                          "from their measured beginning",
                          show_count(l_.report.launched_before)));
    if (initial > 0)
      l_.find("pytorch.device.initial_condition", Severity::note,
              fmt::format("{} device operations begin when the recording shows no reason: work before it "
                          "is assumed",
                          show_count(initial)));
    waited_.resize(l_.items.size(), 0);
  }

  /// An operation that could have started at `ready` and did not: the one of another stream of the device
  /// that ran at that time, and around whose end it started. A kernel that fills the device lets others
  /// in while its last blocks run, so that end may be a little later than the start.
  uint32_t held_up_by(uint32_t op, int64_t ready, const std::vector<uint32_t>& by_end) const {
    const DeviceOp& x = k_.device_ops[op];
    const auto first = std::lower_bound(by_end.begin(), by_end.end(), x.start_ns - kUnexplainedNs,
                                        [&](uint32_t o, int64_t t) { return k_.device_ops[o].end_ns() < t; });
    uint32_t best = kNone;
    int64_t best_distance = 0;
    for (auto at = first; at != by_end.end() && k_.device_ops[*at].end_ns() <= x.start_ns + kTailNs; ++at) {
      const DeviceOp& y = k_.device_ops[*at];
      const bool same_device = k_.streams[y.lane].process == k_.streams[x.lane].process;
      if (y.lane == x.lane || !same_device || y.start_ns > ready + kUnexplainedNs || y.start_ns >= x.start_ns) continue;
      const int64_t distance = std::abs(y.end_ns() - x.start_ns);
      if (best == kNone || distance < best_distance) best = *at, best_distance = distance;
    }
    return best;
  }

  void add_syncs() {
    for (const CallRole& role : l_.roles) {
      if (!role.blocks || role.wait_item == kNone) continue;
      for (const uint32_t op : role.waits_for)
        dep(role.wait_item, l_.item_of_device_op[op], EdgeKind::sync, role.wait_inferred);
    }
  }

  // ---- waits in host time --------------------------------------------------------------------------

  /// Host time that the thread spent in no operator: gaps, and annotations that begin between them.
  bool is_idle(uint32_t id) { return item(id).kind == Item::Kind::gap || item(id).kind == Item::Kind::annotation; }

  /// The gap of a thread that holds `time` (begin < time <= end) shrinks to what follows `time`.
  /// False if the thread was not idle then.
  bool shrink_gap(uint32_t thread, int64_t time, uint32_t& gap) {
    const auto& chain = l_.chains[thread];
    const auto after = std::lower_bound(chain.begin(), chain.end(), time,
                                        [&](uint32_t id, int64_t t) { return item(id).end() < t; });
    for (auto at = after; at != chain.end() && item(*at).start < time; ++at)
      if (item(*at).kind == Item::Kind::gap) {
        gap = *at;
        Item& it = item(gap);
        it.dur = it.end() - time;
        it.start = time;
        waited_[gap] = 1;
        return true;
      }
    return false;
  }

  /// The last item of a thread that had ended at `time`, or kNone.
  uint32_t last_ended(uint32_t thread, int64_t time) {
    const auto& chain = l_.chains[thread];
    const auto after = std::upper_bound(chain.begin(), chain.end(), time,
                                        [&](int64_t t, uint32_t id) { return t < item(id).end(); });
    return after == chain.begin() ? kNone : *std::prev(after);
  }

  /// Communication that a CPU thread of the backend carries out for another thread: it begins after
  /// the c10d call that asked for it, and whoever goes idle until it ends was waiting for it.
  void find_comm_threads() {
    std::vector<uint32_t> running, asking;
    for (uint32_t op = 0; op < k_.ops.size(); ++op) {
      if (k_.ops[op].host_comm) running.push_back(op);
      else if (l_.text(k_.ops[op].name).starts_with("c10d::")) asking.push_back(op);
    }
    if (running.empty()) return;
    const auto by_start = [&](uint32_t a, uint32_t b) {
      return std::pair(k_.ops[a].start_ns, a) < std::pair(k_.ops[b].start_ns, b);
    };
    // Record-function ids are given out when the call is made, so they order both sides alike.
    const auto by_id = [&](uint32_t a, uint32_t b) {
      return std::pair(k_.ops[a].rf_id, k_.ops[a].start_ns) < std::pair(k_.ops[b].rf_id, k_.ops[b].start_ns);
    };
    std::sort(running.begin(), running.end(), by_id);
    std::sort(asking.begin(), asking.end(), by_id);
    std::vector<char> taken(asking.size(), 0);
    for (const uint32_t comm : running) {
      const CommKind kind = comm_kind(after_colon(l_.text(k_.ops[comm].name)));
      uint32_t caller = kNone;
      for (size_t i = 0; i < asking.size(); ++i) {
        if (taken[i] || k_.ops[asking[i]].start_ns > k_.ops[comm].start_ns) continue;
        const CommKind asked = comm_kind(after_colon(l_.text(k_.ops[asking[i]].name)));
        if (asked.type != kind.type || asked.collective != kind.collective) continue;
        taken[i] = 1;
        caller = asking[i];
        break;
      }
      if (caller != kNone && k_.ops[caller].lane != k_.ops[comm].lane) begin_after(comm, caller);
    }
    std::sort(running.begin(), running.end(), by_start);
    for (const uint32_t comm : running) wait_for_comm(comm);
  }

  static std::string_view after_colon(std::string_view name) { return name.substr(name.rfind(':') + 1); }

  /// The backend's thread was idle until the call; what remains of its gap is the hand-over.
  void begin_after(uint32_t comm, uint32_t caller) {
    const CpuOp& c = k_.ops[comm];
    uint32_t on = l_.item_of_op[caller];
    const uint32_t latest = last_ended(k_.ops[caller].lane, c.start_ns);
    if (latest != kNone && item(latest).start >= k_.ops[caller].start_ns &&
        item(latest).end() <= k_.ops[caller].end_ns())
      on = latest;
    const int64_t asked = std::min(item(on).end(), c.start_ns);
    uint32_t gap = kNone;
    if (shrink_gap(c.lane, asked, gap)) dep(gap, on, EdgeKind::comm);
    else dep(l_.item_of_op[comm], on, EdgeKind::comm);
    comm_caller_.push_back({comm, caller});
  }

  void wait_for_comm(uint32_t comm) {
    const uint32_t self = last_piece(comm);
    const int64_t end = item(self).end();
    for (uint32_t thread = 0; thread < l_.chains.size(); ++thread) {
      if (thread == k_.ops[comm].lane || !asked_by(thread, comm)) continue;
      uint32_t gap = kNone;
      if (gap_around(thread, end) >= kHandoffNs / 2 && shrink_gap(thread, end, gap)) {
        dep(gap, self, EdgeKind::comm, true);
        return;
      }
    }
    if (const uint32_t reader = first_reader(comm, end); reader != kNone)
      dep(l_.item_of_op[reader], self, EdgeKind::data, true);
  }

  bool asked_by(uint32_t thread, uint32_t comm) const {
    for (const auto& [c, caller] : comm_caller_)
      if (c == comm) return k_.ops[caller].lane == thread;
    return false;
  }

  uint32_t last_piece(uint32_t op) {
    uint32_t last = l_.item_of_op[op];
    for (const uint32_t id : l_.chains[k_.ops[op].lane])
      if (item(id).whole == l_.item_of_op[op]) last = id;
    return last;
  }

  /// Length of the gap that holds `time`, 0 if the thread was not idle then.
  int64_t gap_around(uint32_t thread, int64_t time) {
    const auto& chain = l_.chains[thread];
    const auto after = std::lower_bound(chain.begin(), chain.end(), time,
                                        [&](uint32_t id, int64_t t) { return item(id).end() < t; });
    for (auto at = after; at != chain.end() && item(*at).start < time; ++at)
      if (item(*at).kind == Item::Kind::gap) return item(*at).dur;
    return 0;
  }

  /// The first operator to begin after `time` that has a tensor of the communication among its inputs.
  uint32_t first_reader(uint32_t comm, int64_t time) {
    if (!l_.has_host || l_.host_of_op[comm] == kNone) return kNone;
    const std::vector<int64_t> storages = storages_of(l_.host.ops[l_.host_of_op[comm]].io.inputs.values);
    if (storages.empty()) return kNone;
    uint32_t best = kNone;
    for (const auto& ops : l_.thread_ops) {
      auto at = std::lower_bound(ops.begin(), ops.end(), time,
                                 [&](uint32_t op, int64_t t) { return k_.ops[op].start_ns < t; });
      for (; at != ops.end() && (best == kNone || k_.ops[*at].start_ns < k_.ops[best].start_ns); ++at) {
        if (l_.host_of_op[*at] == kNone || *at == comm) continue;
        const std::vector<int64_t> read = storages_of(l_.host.ops[l_.host_of_op[*at]].io.inputs.values);
        if (std::find_first_of(read.begin(), read.end(), storages.begin(), storages.end()) != read.end()) {
          best = *at;
          break;
        }
      }
    }
    return best;
  }

  /// Storage ids of the tensors [id, storage, offset, elements, bytes, 'device'] in a list of values.
  static std::vector<int64_t> storages_of(std::string_view values) {
    std::vector<int64_t> storages;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != '[' || i + 1 >= values.size() || values[i + 1] < '0' || values[i + 1] > '9') continue;
      const size_t close = values.find(']', i);
      if (close == std::string_view::npos) break;
      const std::vector<int64_t> numbers = parse_ranks(values.substr(i, close - i));
      if (numbers.size() >= 5 && contains(values.substr(i, close - i), "'")) storages.push_back(numbers[1]);
      i = close;
    }
    return storages;
  }

  /// A thread that goes on after a long idle time was woken by the thread that last went idle meanwhile
  /// and is still idle then: a fork to a worker and the join back look alike.
  void find_handoffs() {
    struct Idle {
      int64_t begin, end;
      uint32_t first, last;  // positions in the chain
    };
    std::vector<std::vector<Idle>> idle(l_.chains.size());
    for (size_t thread = 0; thread < l_.chains.size(); ++thread) {
      const auto& chain = l_.chains[thread];
      for (uint32_t i = 0; i < chain.size();) {
        uint32_t j = i;
        while (j < chain.size() && is_idle(chain[j])) ++j;
        if (j > i && item(chain[j - 1]).end() > item(chain[i]).start)
          idle[thread].push_back({item(chain[i]).start, item(chain[j - 1]).end(), i, j});
        i = std::max(j, i + 1);
      }
      if (!chain.empty()) {  // idle for good behind the last item
        const int64_t end = item(chain.back()).end();
        if (idle[thread].empty() || idle[thread].back().end != end || !is_idle(chain.back()))
          idle[thread].push_back({end, std::numeric_limits<int64_t>::max(), 0, 0});
        else
          idle[thread].back().end = std::numeric_limits<int64_t>::max(), idle[thread].back().last = 0;
      }
    }
    for (uint32_t thread = 0; thread < idle.size(); ++thread)
      for (const Idle& gap : idle[thread]) {
        if (gap.last == 0 || gap.end - gap.begin < kHandoffNs) continue;
        bool waited = false;
        for (uint32_t i = gap.first; i < gap.last; ++i) waited |= waited_[l_.chains[thread][i]] != 0;
        if (waited) continue;
        int64_t best = std::numeric_limits<int64_t>::min();
        uint32_t from = kNone;
        for (uint32_t other = 0; other < idle.size(); ++other) {
          if (other == thread) continue;
          // The other thread's last idle time that began inside this gap.
          const auto after = std::upper_bound(idle[other].begin(), idle[other].end(), gap.end,
                                              [](int64_t t, const Idle& i) { return t < i.begin; });
          if (after == idle[other].begin()) continue;
          const Idle& candidate = *std::prev(after);
          if (candidate.begin > gap.begin && candidate.end >= gap.end && candidate.begin > best) {
            best = candidate.begin;
            from = other;
          }
        }
        uint32_t shrunk = kNone;
        if (from == kNone) continue;
        const uint32_t on = last_working(from, best);
        if (on != kNone && shrink_gap(thread, best, shrunk)) dep(shrunk, on, EdgeKind::thread, true);
      }
  }

  /// The last item of a thread that is no idle time and had ended at `time`.
  uint32_t last_working(uint32_t thread, int64_t time) {
    const auto& chain = l_.chains[thread];
    auto at = std::upper_bound(chain.begin(), chain.end(), time,
                               [&](int64_t t, uint32_t id) { return t < item(id).end(); });
    while (at != chain.begin())
      if (const uint32_t id = *--at; !is_idle(id) && item(id).end() <= time) return id;
    return kNone;
  }

  /// A long piece of host time through which the device was busy, and which ended just after it had
  /// nothing left to do, was a wait that no call recorded.
  void find_hidden_waits() {
    struct Busy {
      int64_t begin, end;
      uint32_t last;
    };
    std::vector<uint32_t> by_start;
    for (const auto& stream : l_.stream_ops) by_start.insert(by_start.end(), stream.begin(), stream.end());
    std::sort(by_start.begin(), by_start.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(k_.device_ops[a].start_ns, a) < std::pair(k_.device_ops[b].start_ns, b);
    });
    std::vector<Busy> busy;
    for (const uint32_t op : by_start) {
      const DeviceOp& x = k_.device_ops[op];
      if (busy.empty() || x.start_ns > busy.back().end + kBusyGapNs) busy.push_back({x.start_ns, x.end_ns(), op});
      else if (x.end_ns() > busy.back().end) busy.back().end = x.end_ns(), busy.back().last = op;
    }
    if (busy.empty()) return;
    for (uint32_t thread = 0; thread < l_.chains.size(); ++thread) {
      std::vector<uint32_t> chain;
      chain.reserve(l_.chains[thread].size());
      for (const uint32_t id : l_.chains[thread]) {
        chain.push_back(id);
        const Item it = item(id);
        const bool piece = it.kind == Item::Kind::op || it.kind == Item::Kind::op_rest || it.kind == Item::Kind::gap;
        if (!piece || it.dur < kHiddenWaitNs || waited_[id]) continue;
        const auto after = std::upper_bound(busy.begin(), busy.end(), it.start,
                                            [](int64_t t, const Busy& b) { return t < b.begin; });
        if (after == busy.begin()) continue;
        const Busy& b = *std::prev(after);
        if (b.end <= it.start || b.end > it.end() || it.end() - b.end > kHiddenWaitSlackNs ||
            l_.launched_at(b.last) >= it.start)
          continue;
        Item rest = it;
        rest.kind = Item::Kind::sync_remainder;
        rest.start = b.end;
        rest.dur = it.end() - b.end;
        rest.whole = id;
        item(id).dur = 0;
        l_.items.push_back(rest);
        const auto rest_id = static_cast<uint32_t>(l_.items.size() - 1);
        chain.push_back(rest_id);
        dep(rest_id, l_.item_of_device_op[b.last], EdgeKind::sync, true);
        ++hidden_waits_;
      }
      l_.chains[thread] = std::move(chain);
    }
    if (hidden_waits_ > 0)
      l_.find("pytorch.sync.hidden", Severity::note,
              fmt::format("{} times a thread went on just when the device had nothing left to do, without "
                          "a recorded synchronisation; taken for waits",
                          show_count(hidden_waits_)));
  }

  Linking& l_;
  const Kineto& k_;
  std::vector<char> waited_;  ///< per item: shrunk to what followed a wait
  std::vector<std::pair<uint32_t, uint32_t>> comm_caller_;
  int64_t hidden_waits_ = 0;
};

}  // namespace

void add_dependencies(Linking& l) { Edges(l).run(); }

}  // namespace chakra::pytorch
