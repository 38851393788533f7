// What a CPU thread waited for: other threads, the device where no call recorded it (for communication that another
// thread carries out: comm_waits.cpp). The time a thread waited turns into an edge: the gap, or the piece
// of an operator, keeps only what came after the wait. docs/explanation/linking.md has the rules.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/chain_editor.h"

namespace chakra::link {
namespace {

using trace::EdgeKind;

constexpr int64_t kHandoffNs = 100'000;     ///< shorter gaps are not looked at for a hand-over
constexpr int64_t kHiddenWaitNs = 100'000;  ///< shorter pieces are not looked at for a hidden wait
constexpr int64_t kHiddenWaitSlackNs = 10'000;
constexpr int64_t kBusyGapNs = 5'000;

class HostWaits : ChainEditor {
 public:
  explicit HostWaits(Linking& l) : ChainEditor(l), p_(l.profile()) {}

  void run() {
    find_handoffs();
    find_hidden_waits();
  }

 private:
  // ---- threads and the device ------------------------------------------------------------------------

  /// A thread that goes on after a long idle time was woken by the thread that last went idle meanwhile
  /// and is still idle then: a fork to a worker and the join back look identical.
  void find_handoffs() {
    struct Idle {
      int64_t begin, end;
      uint32_t first, last;  // positions in the chain
    };
    std::vector<std::vector<Idle>> idle(l_.graph.chains.size());
    for (size_t thread = 0; thread < l_.graph.chains.size(); ++thread) {
      const auto& chain = l_.graph.chains[thread];
      for (uint32_t i = 0; i < chain.size();) {
        uint32_t j = i;
        while (j < chain.size() && is_idle(chain[j])) ++j;
        // From the end of what was before: a gap may have shrunk to what followed its wait.
        if (const int64_t begin = i > 0 ? item(chain[i - 1]).end() : l_.graph.begin_ns;
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
        for (uint32_t i = gap.first; i < gap.last; ++i) waited |= item(l_.graph.chains[thread][i]).waited;
        if (waited) continue;
        // The last idle time of another thread that began inside this gap and outlasts it.
        auto candidate = std::upper_bound(begins.begin(), begins.end(), gap.end,
                                          [](int64_t t, const Begin& b) { return t < b.begin; });
        // Whether a thread waited for a backend's is told by what the communication was for (comm_waits.cpp).
        const auto suits = [&](const Begin& b) {
          const bool backend = b.thread < l_.threads.carries_out.size() && l_.threads.carries_out[b.thread];
          return b.thread != thread && b.end >= gap.end && !backend;
        };
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

  /// Return the last item of a thread that is not idle time and had ended at `time`.
  uint32_t last_working(uint32_t thread, int64_t time) {
    const auto& chain = l_.graph.chains[thread];
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
    for (const auto& stream : l_.device.stream_ops) by_start.insert(by_start.end(), stream.begin(), stream.end());
    sort_rows(by_start, [&](uint32_t a, uint32_t b) {
      return std::pair(p_.device_ops[a].start_ns, a) < std::pair(p_.device_ops[b].start_ns, b);
    });
    std::vector<Busy> busy;
    for (const uint32_t op : by_start) {
      const DeviceOp& x = p_.device_ops[op];
      if (busy.empty() || x.start_ns > busy.back().end + kBusyGapNs) busy.push_back({x.start_ns, x.end_ns(), op});
      else if (x.end_ns() > busy.back().end) busy.back().end = x.end_ns(), busy.back().last = op;
    }
    if (busy.empty()) return;
    for (uint32_t thread = 0; thread < l_.graph.chains.size(); ++thread) {
      std::vector<uint32_t> chain;
      chain.reserve(l_.graph.chains[thread].size());
      for (const uint32_t id : l_.graph.chains[thread]) {
        chain.push_back(id);
        const Item it = item(id);
        const bool piece = it.kind == Item::Kind::op || it.kind == Item::Kind::op_rest || it.kind == Item::Kind::gap;
        if (!piece || it.dur < kHiddenWaitNs || it.waited || l_.communicates(it)) continue;
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
        l_.graph.items.push_back(rest);
        const auto rest_id = static_cast<uint32_t>(l_.graph.items.size() - 1);
        chain.push_back(rest_id);
        dep(rest_id, l_.graph.item_of_device_op[b.last], EdgeKind::sync, true);
        ++hidden_waits_;
      }
      l_.graph.chains[thread] = std::move(chain);
    }
    if (hidden_waits_ > 0)
      l_.find("pytorch.sync.hidden", Severity::note,
              fmt::format("{} times a thread continued just when the device became idle, without a recorded "
                          "synchronisation; treated as waits",
                          show_count(hidden_waits_)));
  }

  const Profile& p_;
  int64_t hidden_waits_ = 0;
};

}  // namespace

void find_host_waits(Linking& l) { HostWaits(l).run(); }

}  // namespace chakra::link
