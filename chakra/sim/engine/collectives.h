// Collectives of a run: members arrive, and end by the network's or the caller's price.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/sim/engine/operations.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

/// All collectives of one group of the matching, type and size.
struct CollectiveTotals {
  int64_t count = 0;
  Picoseconds time = 0, wait = 0;
  const coll::AlgorithmRow* algorithm = nullptr;  ///< of the first of them; null if the caller gives the time
  bool near = false, by_rule = false;
  std::vector<coll::Candidate> candidates;
  uint32_t root = 0;
  std::optional<net::FittedTime> fitted;  ///< of the first of them, if the network's fits give the time
  struct When {
    Picoseconds first, last, end;  ///< first and last arrival, and the last end
  };
  std::vector<When> when;  ///< in closed form: of collectives that the network prices
  /// By member: its arrival before the last one, and the end of the collective. Incomplete for very many collectives.
  std::vector<std::vector<std::pair<Picoseconds, Picoseconds>>> early;
};
using CollectiveKind = std::tuple<uint32_t, trace::CommType, uint64_t>;

class Collectives {
 public:
  /// The run must outlive this object.
  explicit Collectives(Run& run) : run_(run), operations_(run.job) {}

  /// Must be called once, when the run's job is known.
  void prepare() { states_.resize(run_.job.matching.collectives.size()); }

  /// Record the arrival of a member. Errors: sim.comm.type, sim.collectives.cannot.
  Result<void> arrive(ActorId a, trace::NodeId n);
  /// Record on a shared network that a member has finished its part.
  void member_done(uint32_t id, uint32_t member);

  /// Return whether some members have arrived and others have not.
  bool is_incomplete(size_t id) const {
    return states_[id].arrived > 0 && states_[id].arrived < run_.job.matching.collectives[id].members.size();
  }
  /// Requires a collective that is incomplete.
  bool has_arrived(size_t id, uint32_t member) const { return states_[id].arrival[member] >= 0; }
  const std::map<CollectiveKind, CollectiveTotals>& totals() const { return totals_; }

 private:
  struct State {
    uint32_t arrived = 0, ended = 0;
    std::vector<Picoseconds> arrival;  ///< per member
    std::vector<uint32_t> finished;    ///< on a shared network: members that wait for the last arrival
    Picoseconds first = 0, last = 0;   ///< arrivals
    bool priced = false;               ///< in closed form
  };

  Result<void> begin(uint32_t id, ActorId a, trace::NodeId n);
  void add_traffic(uint32_t id, const coll::Operation& op);
  Result<void> note_choice(const match::Collective& c, ActorId a, trace::NodeId n);
  Result<void> price(uint32_t id, ActorId a, trace::NodeId n);
  Result<bool> end_by_model(uint32_t id);
  void end_late(uint32_t id, const coll::Operation& op, double factor);
  void leave(uint32_t id, uint32_t member, Picoseconds time);
  void end_as_recorded(uint32_t id);
  void end_member(uint32_t id, uint32_t m, Picoseconds time);
  void note_end(uint32_t id, Picoseconds time);
  void note_times(const State& state, Picoseconds end, CollectiveTotals& totals);

  Run& run_;
  Operations operations_;
  std::vector<State> states_;
  absl::flat_hash_map<uint32_t, Picoseconds> longest_;  ///< of collectives under way: the latest end so far
  std::map<CollectiveKind, CollectiveTotals> totals_;
  /// By group of the matching, and operation.
  std::map<std::tuple<uint32_t, trace::CommType, uint64_t, uint32_t>, std::shared_ptr<const Course>> courses_;
  size_t early_ = 0;                  ///< entries of CollectiveTotals::early
  std::vector<Picoseconds> ends_;     ///< of price()
  std::vector<Traffic::Done> moved_;  ///< of arrive()
};

}  // namespace chakra::sim
