// Messages of a run: a send and its receive, which meet at the receiver.
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

class Messages {
 public:
  /// The run must outlive it.
  explicit Messages(Run& run) : run_(run) {}

  /// To be called once, when the run's job is known.
  void prepare() { states_.resize(run_.job.matching.messages.size()); }

  /// A send or a receive begins. Errors: sim.comm.peer, sim.fabric.small.
  Result<void> send(ActorId a, trace::NodeId n);
  Result<void> receive(ActorId a, trace::NodeId n);
  /// On a shared network: the last byte has left the sender, or has come to the receiver.
  void left(uint32_t id);
  void arrived(uint32_t id);

  /// A receive has begun, and its send has not.
  bool is_unsent(size_t id) const { return states_[id].posted && !states_[id].sent; }
  Picoseconds arrival(size_t id) const { return states_[id].arrival; }

 private:
  struct State {
    bool sent = false, posted = false, there = false;
    Picoseconds arrival = 0;
  };

  void meet(uint32_t id, Picoseconds transfer_ps);
  void now_moving(const match::NodeRef& recv);
  void deliver(uint32_t id);

  Run& run_;
  std::vector<State> states_;
};

}  // namespace chakra::sim
