// Breakdown of an actor's time, by the rule of RankReport.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sim/fold.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// Categories of exposed communication, numbered in the order of first use.
class ExposedKinds {
 public:
  using Kind = std::pair<uint32_t, trace::CommType>;  ///< group of the matching, and type
  static constexpr Kind kMessage{kNobody, trace::CommType::unknown};

  uint32_t number(const Kind& kind) {
    const auto [found, added] = numbers_.try_emplace(kind, static_cast<uint32_t>(kinds_.size()));
    if (added) kinds_.push_back(kind);
    return found->second;
  }
  const Kind& operator[](size_t number) const { return kinds_[number]; }

 private:
  std::map<Kind, uint32_t> numbers_;
  std::vector<Kind> kinds_;
};

/// The state of an actor, and the time spent in each state.
struct Account {
  struct Moving {
    trace::NodeId node;
    uint32_t kind;  ///< of ExposedKinds
    Picoseconds begin;
  };
  struct Moment {
    Picoseconds begin, end;
    uint32_t kind;
  };
  int64_t computing = 0, storing = 0, hosting = 0, waiting = 0;  ///< nodes; waiting: receives before their send
  std::vector<Moving> moving;                                    ///< communication, in the order of its begin
  Picoseconds since = 0;
  Picoseconds compute = 0, storage = 0, host = 0, bubble = 0, idle = 0;
  std::vector<Picoseconds> exposed;  ///< by Moving::kind, until computation ran last
  std::vector<Moment> stretch;       ///< exposed communication since then, ascending and apart
  std::vector<Moving> ended_now;     ///< communication that ended at `ended_at`
  Picoseconds ended_at = -1;

  /// Account for the time up to now. Must be called before the state of the actor changes.
  void up_to(Picoseconds now) {
    const Picoseconds passed = now - since;
    since = now;
    if (passed == 0) return;
    if (computing > 0) {
      compute += passed;
    } else if (!moving.empty()) {
      expose({now - passed, now, moving.front().kind});
    } else {
      (storing > 0 ? storage : hosting > 0 ? host : waiting > 0 ? bubble : idle) += passed;
    }
  }
  /// Communication begins now. Call after up_to().
  void start_moving(trace::NodeId node, uint32_t kind) { moving.push_back({node, kind, since}); }
  /// Communication ends now. It has the moments since it began, unless another ends later before computation begins (or
  /// at the same time, and is the later node).
  void stop_moving(trace::NodeId node) {
    const auto found = std::find_if(moving.begin(), moving.end(), [&](const Moving& m) { return m.node == node; });
    const Moving ended = *found;
    moving.erase(found);
    if (stretch.empty() || stretch.back().end != since) return;
    if (ended_at != since) ended_now.clear();
    ended_at = since;
    Picoseconds before = since;
    for (const Moving& other : ended_now)
      if (other.node > ended.node) before = std::min(before, other.begin);
    take(ended, before);
    ended_now.push_back(ended);
  }
  /// A node begins to compute, now.
  void start_computing() {
    if (computing++ == 0) end_stretch();
  }
  /// Computation begins, or the run ends.
  void end_stretch() {
    for (const Moment& moment : stretch) {
      if (exposed.size() <= moment.kind) exposed.resize(moment.kind + size_t{1});
      exposed[moment.kind] += moment.end - moment.begin;
    }
    stretch.clear();
  }
  Picoseconds communication() const { return std::accumulate(exposed.begin(), exposed.end(), Picoseconds{0}); }
  Picoseconds total() const { return compute + communication() + storage + host + bubble + idle; }

 private:
  /// Give the moments before `before` since this communication began to it. It ran in all of them.
  void take(const Moving& ended, Picoseconds before) {
    std::vector<Moment> after;
    while (!stretch.empty() && stretch.back().begin >= before) after.push_back(stretch.back()), stretch.pop_back();
    if (!stretch.empty() && stretch.back().end > before) {
      after.push_back({before, stretch.back().end, stretch.back().kind});
      stretch.back().end = before;
    }
    Picoseconds begin = before;
    for (; !stretch.empty() && stretch.back().begin >= ended.begin; stretch.pop_back()) begin = stretch.back().begin;
    if (!stretch.empty() && stretch.back().end > ended.begin) begin = stretch.back().end = ended.begin;
    expose({begin, before, ended.kind});
    for (; !after.empty(); after.pop_back()) expose(after.back());
  }
  void expose(const Moment& moment) {
    if (moment.begin >= moment.end) return;
    if (!stretch.empty() && stretch.back().end == moment.begin && stretch.back().kind == moment.kind)
      stretch.back().end = moment.end;
    else stretch.push_back(moment);
  }
};

}  // namespace chakra::sim
