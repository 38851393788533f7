// What a CPU thread waited for: communication that another thread carries out, other threads, the
// device where no call recorded it. The time a thread waited turns into an edge: the gap, or the piece
// of an operator, keeps only what came after the wait. docs/linking.md has the rules.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "chakra/pytorch/linking.h"

namespace chakra::pytorch {
namespace {

using trace::EdgeKind;

constexpr int64_t kCommWaitNs = 50'000;     ///< shorter gaps are no waits for communication
constexpr int64_t kHandoffNs = 100'000;     ///< shorter gaps are not looked at for a hand-over
constexpr int64_t kHiddenWaitNs = 100'000;  ///< shorter pieces are not looked at for a hidden wait
constexpr int64_t kHiddenWaitSlackNs = 10'000;
constexpr int64_t kBusyGapNs = 5'000;

std::string_view after_colon(std::string_view name) { return name.substr(name.rfind(':') + 1); }

class HostWaits {
 public:
  explicit HostWaits(Linking& l) : l_(l), k_(l.kineto) {}

  void run() {
    find_comm_waits();
    find_handoffs();
    find_hidden_waits();
  }

 private:
  void dep(uint32_t item, uint32_t on, EdgeKind kind, bool inferred) {
    l_.deps.push_back({item, on, kind, inferred, 0});
  }
  Item& item(uint32_t id) { return l_.items[id]; }

  /// Host time that the thread spent in no operator: gaps, and annotations that begin between them.
  bool is_idle(uint32_t id) { return item(id).kind == Item::Kind::gap || item(id).kind == Item::Kind::annotation; }

  // ---- chains ----------------------------------------------------------------------------------------

  /// Position in a chain of the first item that ends at `time` or later.
  size_t position_at(uint32_t thread, int64_t time) {
    const auto& chain = l_.chains[thread];
    const auto found =
        std::lower_bound(chain.begin(), chain.end(), time, [&](uint32_t id, int64_t t) { return item(id).end() < t; });
    return static_cast<size_t>(found - chain.begin());
  }

  std::vector<uint32_t>::const_iterator find_in_chain(uint32_t id) {
    const auto& chain = l_.chains[item(id).lane];
    return std::find(chain.begin() + static_cast<ptrdiff_t>(position_at(item(id).lane, item(id).end())), chain.end(),
                     id);
  }

  /// The gap of a thread that holds `time` (begin < time <= end), or kNone if the thread was not idle.
  uint32_t gap_at(uint32_t thread, int64_t time) {
    const auto& chain = l_.chains[thread];
    for (size_t at = position_at(thread, time); at < chain.size() && item(chain[at]).start < time; ++at)
      if (item(chain[at]).kind == Item::Kind::gap) return chain[at];
    return kNone;
  }

  /// The gap keeps only what follows `time`, the end of the wait.
  void shrink_gap(uint32_t gap, int64_t time) {
    Item& it = item(gap);
    time = std::clamp(time, it.start, it.end());
    it.dur = it.end() - time;
    it.start = time;
    it.waited = true;
  }

  /// Cuts a thread's item at `time`; the first part keeps its id. Returns the second part.
  uint32_t cut(uint32_t id, int64_t time) {
    Item rest = item(id);
    const auto at = find_in_chain(id);
    if (rest.kind == Item::Kind::op) rest.kind = Item::Kind::op_rest;
    if (rest.kind == Item::Kind::call) rest.kind = Item::Kind::call_rest;
    if (rest.continues() && !item(id).continues()) rest.of = id;
    rest.start = time;
    rest.dur = item(id).end() - time;
    item(id).dur = time - item(id).start;
    l_.items.push_back(rest);
    const auto rest_id = static_cast<uint32_t>(l_.items.size() - 1);
    l_.chains[rest.lane].insert(at + 1, rest_id);
    return rest_id;
  }

  // ---- communication on CPU threads ------------------------------------------------------------------

  /// Communication that a thread of the backend carries out for another thread: it begins after the
  /// c10d call that asked for it, and whoever first needs its tensors waits for it.
  void find_comm_waits() {
    std::vector<uint32_t> running, asking;
    for (uint32_t op = 0; op < k_.ops.size(); ++op) {
      if (k_.ops[op].host_comm) running.push_back(op);
      else if (l_.text(k_.ops[op].name).starts_with("c10d::")) asking.push_back(op);
    }
    // Record-function ids are given out when the call is made, so they order both sides alike.
    const auto by_id = [&](uint32_t a, uint32_t b) {
      return std::pair(k_.ops[a].rf_id, k_.ops[a].start_ns) < std::pair(k_.ops[b].rf_id, k_.ops[b].start_ns);
    };
    std::sort(running.begin(), running.end(), by_id);
    std::sort(asking.begin(), asking.end(), by_id);
    const auto kind_of = [&](uint32_t op) {
      const CommKind kind = comm_kind(after_colon(l_.text(k_.ops[op].name)));
      return std::pair(kind.type, kind.collective);
    };
    std::map<std::pair<trace::NodeType, trace::CommType>, std::deque<uint32_t>> asked;
    for (const uint32_t op : asking) asked[kind_of(op)].push_back(op);
    index_readers(running);
    for (const uint32_t comm : running) {
      std::deque<uint32_t>& calls = asked[kind_of(comm)];
      const auto found = std::find_if(calls.begin(), calls.end(),
                                      [&](uint32_t call) { return k_.ops[call].start_ns <= k_.ops[comm].start_ns; });
      if (found == calls.end()) continue;
      const uint32_t caller = *found;
      calls.erase(found);  // nearly always the first
      if (k_.ops[caller].lane == k_.ops[comm].lane) continue;
      begin_after(comm, caller);
      wait_for_comm(comm, caller);
    }
  }

  /// Which operators have a storage that some communication moves among their inputs, by start.
  void index_readers(const std::vector<uint32_t>& comms) {
    if (!l_.has_host) return;
    for (const uint32_t comm : comms)
      if (l_.host_of_op[comm] != kNone)
        for (const int64_t storage : storages_of(comm)) readers_[storage];
    if (readers_.empty()) return;
    for (uint32_t op = 0; op < k_.ops.size(); ++op) {
      if (l_.host_of_op[op] == kNone) continue;
      for (const int64_t storage : storages_of(op))
        if (const auto found = readers_.find(storage);
            found != readers_.end() && (found->second.empty() || found->second.back() != op))
          found->second.push_back(op);
    }
    for (auto& [storage, ops] : readers_)
      std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return starts_before(a, b); });
  }
  bool starts_before(uint32_t a, uint32_t b) const {
    return std::tuple(k_.ops[a].start_ns, k_.ops[a].lane, a) < std::tuple(k_.ops[b].start_ns, k_.ops[b].lane, b);
  }

  /// The backend's thread was idle until it was asked; what remains of its gap is the hand-over. It may
  /// begin before the call returns: then the call is cut there.
  void begin_after(uint32_t comm, uint32_t caller) {
    const CpuOp &c = k_.ops[comm], &call = k_.ops[caller];
    const auto& chain = l_.chains[call.lane];
    uint32_t on = l_.item_of_op[caller];
    for (size_t at = position_at(call.lane, call.start_ns); at < chain.size(); ++at) {
      const Item& it = item(chain[at]);
      if (it.start >= c.start_ns || it.start >= call.end_ns()) break;
      if (it.start >= call.start_ns) on = chain[at];
    }
    if (item(on).start < c.start_ns && item(on).end() > c.start_ns) cut(on, c.start_ns);
    const uint32_t gap = gap_at(c.lane, c.start_ns);
    if (gap != kNone) shrink_gap(gap, item(on).end());
    dep(gap != kNone ? gap : l_.item_of_op[comm], on, EdgeKind::comm, false);
  }

  /// The first operator that needs the communication's tensors waits for it: in the gap before it, if its
  /// thread was idle there, and otherwise without having to.
  void wait_for_comm(uint32_t comm, uint32_t caller) {
    const uint32_t self = l_.item_of_op[comm];
    const int64_t end = k_.ops[comm].end_ns();
    uint32_t gap = kNone;
    if (const uint32_t reader = first_reader(comm, caller, gap); reader != kNone) {
      if (gap == kNone || end <= item(gap).start) {
        dep(l_.item_of_op[reader], last_piece(self), EdgeKind::data, false);
        return;
      }
    } else {
      gap = gap_at(k_.ops[caller].lane, end);
      if (gap == kNone || item(gap).dur < kCommWaitNs) return;
    }
    // The record may end after who waited for the communication went on: its thread was held up between
    // the completion and the end of the record.
    const int64_t completed = std::min(end, item(gap).end());
    uint32_t last = last_piece(self);
    if (item(last).start < completed && item(last).end() > completed) cut(last, completed);
    shrink_gap(gap, completed);
    dep(gap, last, EdgeKind::comm, true);
  }

  uint32_t last_piece(uint32_t self) {
    uint32_t last = self;
    const CpuOp& op = k_.ops[item(self).record];
    const auto& chain = l_.chains[item(self).lane];
    for (size_t at = position_at(op.lane, item(self).end()); at < chain.size() && item(chain[at]).start <= op.end_ns();
         ++at)
      if (item(chain[at]).continues() && item(chain[at]).of == self) last = chain[at];
    return last;
  }

  /// The first operator that begins after the communication did, has one of its tensors among its inputs,
  /// and begins after its end or after an idle time (then `gap`). kNone: none, or no host trace.
  uint32_t first_reader(uint32_t comm, uint32_t caller, uint32_t& gap) {
    if (!l_.has_host || l_.host_of_op[comm] == kNone) return kNone;
    const CpuOp& c = k_.ops[comm];
    const int64_t from = std::max(c.start_ns, k_.ops[caller].end_ns());
    uint32_t best = kNone;
    for (const int64_t storage : storages_of(comm)) {
      const std::vector<uint32_t>& ops = readers_[storage];
      auto at = std::lower_bound(ops.begin(), ops.end(), from,
                                 [&](uint32_t op, int64_t t) { return k_.ops[op].start_ns < t; });
      for (; at != ops.end() && (best == kNone || starts_before(*at, best)); ++at) {
        if (*at == comm) continue;
        const uint32_t before = gap_before(*at, from);
        if (k_.ops[*at].start_ns < c.end_ns() && before == kNone) continue;  // looked at, not waited for
        best = *at;
        gap = before;
        break;
      }
    }
    return best;
  }

  /// The gap directly before an operator, or before the outermost one around it that began after `from`.
  uint32_t gap_before(uint32_t op, int64_t from) {
    for (uint32_t around = l_.parent_op[op]; around != kNone && k_.ops[around].start_ns >= from;
         around = l_.parent_op[around])
      if (!k_.ops[around].annotation) op = around;
    const auto& chain = l_.chains[k_.ops[op].lane];
    for (auto at = find_in_chain(l_.item_of_op[op]); at != chain.begin();) {
      const Item& it = item(*--at);
      if (it.kind == Item::Kind::gap) return it.dur >= kCommWaitNs && !it.waited ? *at : kNone;
      if (it.kind != Item::Kind::annotation) return kNone;
    }
    return kNone;
  }

  std::vector<int64_t> storages_of(uint32_t op) const {
    std::vector<int64_t> storages;
    for (const TensorRef& tensor : parse_tensors(l_.host.io(l_.host.ops[l_.host_of_op[op]]).inputs.values))
      storages.push_back(tensor.storage);
    return storages;
  }

  // ---- threads and the device ------------------------------------------------------------------------

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
        // From the end of what was before: a gap may have shrunk to what followed its wait.
        if (const int64_t begin = i > 0 ? item(chain[i - 1]).end() : l_.begin_ns;
            j > i && item(chain[j - 1]).end() > begin)
          idle[thread].push_back({begin, item(chain[j - 1]).end(), i, j});
        i = std::max(j, i + 1);
      }
      if (!chain.empty()) {  // idle for good behind the last item
        const int64_t end = item(chain.back()).end();
        if (idle[thread].empty() || idle[thread].back().end != end || !is_idle(chain.back()))
          idle[thread].push_back({end, std::numeric_limits<int64_t>::max(), 0, 0});
        else idle[thread].back().end = std::numeric_limits<int64_t>::max(), idle[thread].back().last = 0;
      }
    }
    struct Begin {
      int64_t begin, end;
      uint32_t thread;
    };
    std::vector<Begin> begins;  // of all threads
    for (uint32_t thread = 0; thread < idle.size(); ++thread)
      for (const Idle& i : idle[thread]) begins.push_back({i.begin, i.end, thread});
    sort_rows(begins, [](const Begin& a, const Begin& b) { return a.begin < b.begin; });
    for (uint32_t thread = 0; thread < idle.size(); ++thread)
      for (const Idle& gap : idle[thread]) {
        if (gap.last == 0 || gap.end - gap.begin < kHandoffNs) continue;
        bool waited = false;
        for (uint32_t i = gap.first; i < gap.last; ++i) waited |= item(l_.chains[thread][i]).waited;
        if (waited) continue;
        // The last idle time of another thread that began inside this gap and outlasts it.
        auto candidate = std::upper_bound(begins.begin(), begins.end(), gap.end,
                                          [](int64_t t, const Begin& b) { return t < b.begin; });
        const auto suits = [&](const Begin& b) { return b.thread != thread && b.end >= gap.end; };
        while (candidate != begins.begin() && std::prev(candidate)->begin > gap.begin && !suits(*std::prev(candidate)))
          --candidate;
        if (candidate == begins.begin() || std::prev(candidate)->begin <= gap.begin) continue;
        const auto [best, until, from] = *std::prev(candidate);
        const uint32_t on = last_working(from, best), shrunk = gap_at(thread, best);
        if (on == kNone || shrunk == kNone) continue;
        shrink_gap(shrunk, best);
        dep(shrunk, on, EdgeKind::thread, true);
      }
  }

  /// The last item of a thread that is no idle time and had ended at `time`.
  uint32_t last_working(uint32_t thread, int64_t time) {
    const auto& chain = l_.chains[thread];
    auto at =
        std::upper_bound(chain.begin(), chain.end(), time, [&](int64_t t, uint32_t id) { return t < item(id).end(); });
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
    sort_rows(by_start, [&](uint32_t a, uint32_t b) {
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
        if (!piece || it.dur < kHiddenWaitNs || it.waited) continue;
        const auto after =
            std::upper_bound(busy.begin(), busy.end(), it.start, [](int64_t t, const Busy& b) { return t < b.begin; });
        if (after == busy.begin()) continue;
        const Busy& b = *std::prev(after);
        if (b.end <= it.start || b.end > it.end() || it.end() - b.end > kHiddenWaitSlackNs ||
            l_.launched_at(b.last) >= it.start)
          continue;
        Item rest = it;
        rest.kind = Item::Kind::sync_remainder;
        rest.start = b.end;
        rest.dur = it.end() - b.end;
        rest.of = id;
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
  std::map<int64_t, std::vector<uint32_t>> readers_;  ///< storage -> operators
  int64_t hidden_waits_ = 0;
};

}  // namespace

void find_host_waits(Linking& l) { HostWaits(l).run(); }

}  // namespace chakra::pytorch
