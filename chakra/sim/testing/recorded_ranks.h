// Recorded jobs of two ranks, node by node, for tests.
#pragma once

#include <algorithm>
#include <utility>

#include "chakra/sim/sim.h"

namespace chakra::sim::testing {

/// A rank's trace, node by node, each waiting for the one before.
class Rank {
 public:
  explicit Rank(int64_t rank) {
    b_.trace.rank = rank;
    b_.trace.says_rank = true;
  }
  Rank& start(int64_t us, int64_t drift_ppb = 0) {
    set_recorded_start(b_.trace, {us * 1000, drift_ppb});
    return *this;
  }
  Rank& comp(int64_t start_us, int64_t us) { return add(trace::NodeType::comp, start_us, us), *this; }
  Rank& coll(trace::CommType type, int64_t start_us, int64_t us) {
    trace::Comm& c = b_.comm(add(trace::NodeType::coll, start_us, us));
    c.type = type;
    c.bytes = 1 << 20;
    return *this;
  }
  Rank& message(trace::NodeType type, int64_t peer, int64_t start_us, int64_t us) {
    trace::Comm& c = b_.comm(add(type, start_us, us));
    (type == trace::NodeType::send ? c.dst : c.src) = peer;
    c.tag = 0;
    c.bytes = 1 << 20;
    return *this;
  }
  /// What comes last belongs to the communication that is the rank's n-th node.
  Rank& piece_of(uint32_t n) {
    b_.trace.type.edit(trace::NodeId(static_cast<uint32_t>(last_) - 1)) = trace::NodeType::metadata;
    b_.trace.part_of.edit(trace::NodeId(static_cast<uint32_t>(last_) - 1)) = trace::NodeId(n);
    return *this;
  }
  trace::Trace finish() && { return std::move(b_).finish(); }

 private:
  /// start_us < 0: it has none.
  trace::NodeId add(trace::NodeType type, int64_t start_us, int64_t us) {
    const trace::NodeId n = b_.add(static_cast<uint64_t>(last_) + 1, 0, type);
    b_.trace.flags.edit(n) = trace::kSaysCpuOrNot | trace::kHasDuration | (start_us >= 0 ? trace::kHasStart : 0);
    b_.trace.start_ps.edit(n) = std::max<int64_t>(0, start_us) * kPsPerUs;
    b_.trace.dur_ps.edit(n) = us * kPsPerUs;
    if (last_ > 0) b_.dep(n, n - 1, 0);
    ++last_;
    return n;
  }
  trace::Builder b_;
  int64_t last_ = 0;
};

inline trace::TraceSet job(Rank&& a, Rank&& b) {
  trace::TraceSet set;
  set.ranks.push_back(std::move(a).finish());
  set.ranks.push_back(std::move(b).finish());
  return set;
}

inline SimInput input_of(trace::TraceSet&& set) {
  SimInput input;
  input.fabric.dimensions.push_back({net::TopologyKind::switch_, 2, 1, 0});
  input.job = std::move(set);
  return input;
}

}  // namespace chakra::sim::testing
