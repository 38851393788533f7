// A queue that runs node a after node b chooses another node m first in one of two cases:
//
// - m has a lower row, and is ready when the queue is free and a is ready;
// - m has a higher row, and is ready when the queue is free, but a is not ready.
//
// Up to the first choice that differs from those of the two bounding runs, every time lies between them. So no choice
// differs if neither case is possible at any times between the runs, for all a and all nodes m that come later.
#include "chakra/sim/engine/certain_order.h"

#include <algorithm>
#include <bit>
#include <span>

namespace chakra::sim {
namespace {

using trace::NodeId;

constexpr Picoseconds kNever = INT64_MAX;
constexpr Picoseconds kAlways = INT64_MIN;  ///< before every time
constexpr uint64_t kMostLooksPerNode = 64;  ///< at nodes that can come first by their times alone

/// The least of a range of values, which are removed one by one.
class Least {
 public:
  explicit Least(const std::vector<Picoseconds>& values) : half_(std::bit_ceil(std::max(values.size(), size_t{1}))) {
    least_.assign(2 * half_, kNever);
    std::copy(values.begin(), values.end(), least_.begin() + static_cast<std::ptrdiff_t>(half_));
    for (size_t i = half_ - 1; i > 0; --i) least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
  }
  void remove(size_t at) {
    least_[at += half_] = kNever;
    for (at /= 2; at > 0; at /= 2) least_[at] = std::min(least_[2 * at], least_[2 * at + 1]);
  }
  /// Call use(index) for each value of [begin, end) that is at most `bound`. Return false as soon as use does.
  template <class Use>
  bool each_at_most(Picoseconds bound, size_t begin, size_t end, const Use& use) const {
    return visit(1, 0, half_, bound, begin, end, use);
  }

 private:
  template <class Use>
  bool visit(size_t i, size_t from, size_t to, Picoseconds bound, size_t begin, size_t end, const Use& use) const {
    if (to <= begin || end <= from || least_[i] > bound || least_[i] == kNever) return true;
    if (i >= half_) return use(i - half_);
    const size_t middle = (from + to) / 2;
    return visit(2 * i, from, middle, bound, begin, end, use) && visit(2 * i + 1, middle, to, bound, begin, end, use);
  }

  size_t half_;
  std::vector<Picoseconds> least_;
};

class OrderProof {
 public:
  OrderProof(const Actor& latest, const std::vector<Picoseconds>& earliest)
      : actor_(latest), trace_(*latest.trace), earliest_(earliest), latest_(latest.times.end) {}

  bool holds() {
    std::vector<NodeId> next(trace_.size(), trace::kNoNode), heads;
    for (const NodeId n : trace_.nodes()) {
      const uint32_t q = actor_.queues.of(n);
      if (q >= actor_.queues.fixed()) continue;  // no queue, or that of a group, whose order is given
      const NodeId before = actor_.queues.before(n);
      if (before == trace::kNoNode) heads.push_back(n);
      else next[before] = n;
    }
    return std::all_of(heads.begin(), heads.end(), [&](NodeId head) {
      order_.clear();
      for (NodeId n = head; n != trace::kNoNode; n = next[n]) order_.push_back(n);
      return queue_is_certain();
    });
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  /// Of the queue whose nodes are in order_.
  bool queue_is_certain() {
    queue_ = actor_.queues.of(order_[0]);
    looks_ = kMostLooksPerNode * order_.size();
    last_before_.clear();
    rows_ = order_;
    std::sort(rows_.begin(), rows_.end());
    std::vector<Picoseconds> ready;
    for (const NodeId n : rows_) ready.push_back(ready_at(n, earliest_));
    Least waiting(ready);
    for (size_t k = 0; k < order_.size(); ++k) {
      const size_t at = static_cast<size_t>(std::lower_bound(rows_.begin(), rows_.end(), order_[k]) - rows_.begin());
      waiting.remove(at);
      if (!choice_is_certain(k, at, waiting)) return false;
    }
    return true;
  }

  /// Whether the queue takes order_[k] next, which has the row `at` of its nodes, rather than one of those waiting.
  bool choice_is_certain(size_t k, size_t at, const Least& waiting) {
    const NodeId a = order_[k];
    const Picoseconds free_first = k == 0 ? kAlways : earliest_[order_[k - 1]];
    const Picoseconds free_last = k == 0 ? kAlways : latest_[order_[k - 1]];
    const Picoseconds begins_last = std::max(free_last, ready_at(a, latest_));
    const auto lower = [&](size_t m) { return may_look() && is_after(rows_[m], k); };
    if (!waiting.each_at_most(begins_last, 0, at, lower)) return false;
    const Picoseconds others = others_of(a);
    if (others == kAlways || others < free_first) return true;
    const auto higher = [&](size_t m) {
      return may_look() && (is_after(rows_[m], k) || waits_for_all_of(rows_[m], a));
    };
    return waiting.each_at_most(others, at + 1, rows_.size(), higher);
  }
  bool may_look() { return looks_ > 0 && looks_-- > 0; }

  /// When all dependencies of the node have ended, by the ends of a run.
  Picoseconds ready_at(NodeId n, const std::vector<Picoseconds>& ends) const {
    Picoseconds ready = actor_.traits.start_ps;
    for (uint32_t e = trace_.deps.begin[n]; e < trace_.deps.begin[n + 1]; ++e)
      ready = std::max(ready, add_saturated(ends[trace_.deps.node[e]], trace_.deps.lag_of(e)));
    return ready;
  }
  /// A dependency that has ended whenever the queue is free.
  bool is_own(uint32_t edge) const {
    return trace_.deps.lag_of(edge) == 0 && actor_.queues.of(trace_.deps.node[edge]) == queue_;
  }
  /// When the dependencies on other queues have ended at the latest.
  Picoseconds others_of(NodeId n) const {
    Picoseconds ready = kAlways;
    for (uint32_t e = trace_.deps.begin[n]; e < trace_.deps.begin[n + 1]; ++e)
      if (!is_own(e)) ready = std::max(ready, add_saturated(latest_[trace_.deps.node[e]], trace_.deps.lag_of(e)));
    return ready;
  }
  /// Whether m waits for all that a waits for on other queues, so that a is ready when m is.
  bool waits_for_all_of(NodeId m, NodeId a) const {
    const auto waits = [&](NodeId on, Picoseconds lag) {
      for (uint32_t e = trace_.deps.begin[m]; e < trace_.deps.begin[m + 1]; ++e)
        if (trace_.deps.node[e] == on && trace_.deps.lag_of(e) >= lag) return true;
      return false;
    };
    for (uint32_t e = trace_.deps.begin[a]; e < trace_.deps.begin[a + 1]; ++e)
      if (!is_own(e) && !waits(trace_.deps.node[e], trace_.deps.lag_of(e))) return false;
    return true;
  }

  /// Whether m waits for order_[k] or a later node of the queue, directly or through others.
  bool is_after(NodeId m, size_t k) {
    if (last_before_.empty()) find_last_before();
    return last_before_[m] != kNowhere && last_before_[m] >= k;
  }
  /// The last place in order_ of the nodes that each node waits for.
  void find_last_before() {
    if (by_dependency_.empty()) by_dependency_ = trace::topological_order(trace_.deps).order;
    std::vector<uint32_t> place(trace_.size(), kNowhere);
    for (size_t k = 0; k < order_.size(); ++k) place[order_[k]] = static_cast<uint32_t>(k);
    last_before_.assign(trace_.size(), kNowhere);
    const auto later = [](uint32_t a, uint32_t b) { return a == kNowhere || (b != kNowhere && b > a) ? b : a; };
    for (const NodeId n : by_dependency_)
      for (const NodeId on : trace_.deps.of(n))
        last_before_[n] = later(later(last_before_[n], last_before_[on]), place[on]);
  }

  const Actor& actor_;
  const trace::Trace& trace_;
  const std::vector<Picoseconds>&earliest_, &latest_;  ///< ends, per node
  uint32_t queue_ = 0;
  std::vector<NodeId> order_, rows_;   ///< the queue's nodes as they ran, and ascending
  std::vector<NodeId> by_dependency_;  ///< all nodes
  std::vector<uint32_t> last_before_;  ///< per node, into order_
  uint64_t looks_ = 0;
};

}  // namespace

bool order_is_certain(const Actor& latest, const std::vector<Picoseconds>& earliest) {
  CHAKRA_ASSERT(latest.times.end.size() == earliest.size());
  return OrderProof(latest, earliest).holds();
}

}  // namespace chakra::sim
