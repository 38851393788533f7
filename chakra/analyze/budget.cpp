// Each moment once: what runs beside what, and why nothing does.
#include <algorithm>
#include <map>
#include <set>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;
using trace::Trace;

class Sweep {
 public:
  Sweep(const Trace& t, const Schedule& s) : t_(t), s_(s) {}

  Result<TimeBudget> run() {
    collect();
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return std::tie(a.time, a.begins, a.node) < std::tie(b.time, b.begins, b.node);
    });
    out_.total = s_.last - s_.first;
    Picoseconds at = s_.first;
    for (const Change& change : changes_) {
      if (change.time > at) spend(at, change.time);
      at = std::max(at, change.time);
      if (change.begins && bound(change.node) == Bound::compute) end_stretch(at, change.node);
      apply(change);
    }
    if (s_.last > at) spend(at, s_.last);
    end_stretch(s_.last, trace::kNoNode);
    std::vector<uint64_t> parts, exposed;
    for (const Picoseconds part : {out_.compute_alone, out_.overlapped, out_.exposed, out_.memory, out_.unrecorded,
                                   out_.host, out_.sync_remainder, out_.host_gap, out_.initial})
      parts.push_back(static_cast<uint64_t>(part));
    for (auto& [cause, idle] : idle_) {
      parts.push_back(static_cast<uint64_t>(idle.time));
      out_.idle.push_back(idle);
    }
    for (auto& [key, row] : exposed_) {
      exposed.push_back(static_cast<uint64_t>(row.time));
      out_.exposed_by.push_back(std::move(row));
    }
    std::stable_sort(out_.exposed_by.begin(), out_.exposed_by.end(),
                     [](const auto& a, const auto& b) { return a.time > b.time; });
    CHAKRA_TRY(check_sum("a rank's time", static_cast<uint64_t>(out_.total), parts));
    CHAKRA_TRY(check_sum("the exposed communication", static_cast<uint64_t>(out_.exposed), exposed));
    return std::move(out_);
  }

 private:
  struct Change {
    Picoseconds time;
    bool begins;
    NodeId node;
  };

  void collect() {
    bool device = false;
    for (NodeId n{0}; n < t_.size() && !device; ++n) device = !t_.on_cpu(n) && bound_of(t_, n) == Bound::compute;
    host_computes_ = !device;
    for (const NodeId n : t_.nodes()) {
      if (!counts(n) || s_.end[n] <= s_.start[n]) continue;
      changes_.push_back({s_.start[n], true, n});
      changes_.push_back({s_.end[n], false, n});
    }
    // Who begins next, for the cause of idle time: also nodes that take no time.
    for (const NodeId n : t_.nodes())
      if (counts(n)) begins_.emplace_back(s_.start[n], n);
    std::sort(begins_.begin(), begins_.end());
  }

  bool counts(NodeId n) const {
    const bool work = t_.type[n] != trace::NodeType::metadata || trace::is_piece_of_communication(t_, n);
    return work && (!s_.measured || t_.has_start(n));
  }

  Bound bound(NodeId n) const {
    const Bound b = bound_of(t_, n);
    return b == Bound::host && host_computes_ ? Bound::compute : b == Bound::message ? Bound::collective : b;
  }

  void apply(const Change& change) {
    const Bound b = bound(change.node);
    running_[static_cast<size_t>(b)] += change.begins ? 1 : -1;
    if (b != Bound::collective) return;
    if (change.begins) comm_.emplace(s_.start[change.node], change.node);
    else comm_.erase({s_.start[change.node], change.node}), stretch_.ended.push_back(change.node);
  }

  bool runs(Bound b) const { return running_[static_cast<size_t>(b)] > 0; }

  void spend(Picoseconds from, Picoseconds to) {
    const Picoseconds time = to - from;
    if (runs(Bound::compute)) {
      (runs(Bound::collective) ? out_.overlapped : out_.compute_alone) += time;
    } else if (runs(Bound::collective)) {
      out_.exposed += time;
      stretch_.moments.push_back({from, time, comm_.begin()->second});
    } else if (runs(Bound::memory)) {
      out_.memory += time;
    } else if (runs(Bound::unrecorded)) {
      out_.unrecorded += time;
    } else if (runs(Bound::host)) {
      out_.host += time;
    } else if (runs(Bound::sync_remainder)) {
      out_.sync_remainder += time;
    } else if (runs(Bound::host_gap)) {
      out_.host_gap += time;
    } else if (runs(Bound::initial_condition)) {
      out_.initial += time;
    } else {
      idle(from, to);
    }
  }

  /// Computation that begins now (kNoNode: the end) ends a stretch of time without computation: choose one of the
  /// communications of each of its moments.
  void end_stretch(Picoseconds now, NodeId computation) {
    if (!stretch_.moments.empty()) {
      assign(awaited_by(computation, now));
      std::reverse(stretch_.ended.begin(), stretch_.ended.end());
      assign(stretch_.ended);
    }
    for (const Moment& moment : stretch_.moments) expose(trace::whole_communication(t_, moment.node), moment.time);
    stretch_.moments.clear();
    stretch_.ended.clear();
  }

  /// The communication that has ended in this stretch and is on the chain of dependencies that end last, from this
  /// computation back: the last one first. A chain visits each node of a trace in at most one stretch.
  std::vector<NodeId> awaited_by(NodeId computation, Picoseconds now) const {
    std::vector<NodeId> awaited;
    NodeId last = computation;
    for (NodeId at = computation; at != trace::kNoNode; at = last) {
      last = trace::kNoNode;
      for (const NodeId on : t_.deps.of(at)) {
        const bool inside = s_.end[on] > stretch_.moments.front().from && s_.end[on] <= std::min(now, s_.end[at]);
        if (inside && (last == trace::kNoNode || s_.end[on] > s_.end[last])) last = on;
      }
      if (last != trace::kNoNode && counts(last) && bound(last) == Bound::collective) awaited.push_back(last);
    }
    return awaited;
  }

  /// Give moments that have no choice yet to the first of these communications (by descending end) that runs then.
  void assign(const std::vector<NodeId>& by_end) {
    size_t at = stretch_.moments.size();
    for (const NodeId n : by_end) {
      while (at > 0 && stretch_.moments[at - 1].from >= s_.end[n]) --at;
      for (; at > 0 && stretch_.moments[at - 1].from >= s_.start[n]; --at) {
        Moment& moment = stretch_.moments[at - 1];
        if (!moment.chosen) moment.node = n, moment.chosen = true;
      }
    }
  }

  void expose(NodeId n, Picoseconds time) {
    const trace::Comm* comm = t_.comm(n);
    const bool message = t_.type[n] != trace::NodeType::coll;
    const trace::CommType type = message || !comm ? trace::CommType::unknown : comm->type;
    const std::string group(message || !comm ? "" : t_.strings[comm->group]);
    auto& row = exposed_[{message, type, group}];
    row.message = message;
    row.type = type;
    row.group = group;
    row.time += time;
  }

  void add_idle(bool lag, bool waits, trace::EdgeKind edge, Picoseconds time) {
    if (time <= 0) return;
    TimeBudget::Idle& idle = idle_[{lag, waits, edge}];
    idle.lag = lag;
    idle.waits = waits;
    idle.edge = edge;
    ++idle.count;
    idle.time += time;
  }

  /// Nothing runs until a node begins: by which edge it waits, and how much of the time is that edge's lag.
  void idle(Picoseconds from, Picoseconds to) {
    while (next_ < begins_.size() && begins_[next_].first < to) ++next_;
    if (next_ == begins_.size() || begins_[next_].first != to) return add_idle(false, false, {}, to - from);
    const NodeId n = begins_[next_].second;
    uint32_t best = trace::kNoRow;
    Picoseconds latest = 0;
    for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
      const Picoseconds end = add_saturated(s_.end[t_.deps.node[e]], t_.deps.lag_of(e));
      if (best == trace::kNoRow || end > latest) best = e, latest = end;
    }
    if (best == trace::kNoRow) return add_idle(false, false, {}, to - from);
    const trace::EdgeKind kind = trace::kind_of(t_.deps.kind[best]);
    const Picoseconds over = std::clamp(latest, from, to);  // until here the lag
    const Picoseconds begun = std::clamp(s_.end[t_.deps.node[best]], from, over);
    add_idle(true, true, kind, over - begun);
    add_idle(false, true, kind, (to - from) - (over - begun));
  }

  const Trace& t_;
  const Schedule& s_;
  bool host_computes_ = false;
  std::vector<Change> changes_;
  std::vector<std::pair<Picoseconds, NodeId>> begins_;
  size_t next_ = 0;
  std::array<int64_t, kBounds.size()> running_{};
  std::set<std::pair<Picoseconds, NodeId>> comm_;  ///< that runs, by start
  struct Moment {
    Picoseconds from, time;
    NodeId node;  ///< the communication that began first, or a better choice
    bool chosen = false;
  };
  struct {
    std::vector<Moment> moments;  ///< of exposed communication
    std::vector<NodeId> ended;    ///< communication, by end
  } stretch_;                     ///< since computation ran last
  std::map<std::tuple<bool, trace::CommType, std::string>, TimeBudget::Exposed> exposed_;
  std::map<std::tuple<bool, bool, trace::EdgeKind>, TimeBudget::Idle> idle_;
  TimeBudget out_;
};

}  // namespace

Result<TimeBudget> time_budget(const Trace& t, const Schedule& s) {
  CHAKRA_ASSERT(s.start.size() == t.size() && s.end.size() == t.size());
  return Sweep(t, s).run();
}

}  // namespace chakra::analyze
