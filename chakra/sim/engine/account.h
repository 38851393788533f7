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
  };
  int64_t computing = 0, storing = 0, hosting = 0, waiting = 0;  ///< nodes; waiting: receives before their send
  std::vector<Moving> moving;                                    ///< communication, in the order of its begin
  Picoseconds since = 0;
  Picoseconds compute = 0, storage = 0, host = 0, bubble = 0, idle = 0;
  std::vector<Picoseconds> exposed;  ///< by Moving::kind

  /// Account for the time up to now. Must be called before the state of the actor changes.
  void up_to(Picoseconds now) {
    const Picoseconds passed = now - since;
    since = now;
    if (passed == 0) return;
    if (computing > 0) {
      compute += passed;
    } else if (!moving.empty()) {
      const uint32_t kind = moving.front().kind;
      if (exposed.size() <= kind) exposed.resize(kind + size_t{1});
      exposed[kind] += passed;
    } else {
      (storing > 0 ? storage : hosting > 0 ? host : waiting > 0 ? bubble : idle) += passed;
    }
  }
  void stop_moving(trace::NodeId node) {
    moving.erase(std::find_if(moving.begin(), moving.end(), [&](const Moving& m) { return m.node == node; }));
  }
  Picoseconds communication() const { return std::accumulate(exposed.begin(), exposed.end(), Picoseconds{0}); }
  Picoseconds total() const { return compute + communication() + storage + host + bubble + idle; }
};

}  // namespace chakra::sim
