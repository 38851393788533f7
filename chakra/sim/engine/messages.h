// Messages of a run: a send and its receive, which meet at the receiver.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/sim/engine/run.h"
#include "chakra/sim/shared_links.h"

namespace chakra::sim {

/// All messages of an actor to one rank, and of one size.
struct MessageKind {
  ActorId actor{0};
  uint32_t slot = 0;  ///< of that rank (Folded::slot)
  uint64_t bytes = 0;
  std::vector<Span> spans;  ///< times during which the messages held their links
};

class Messages {
 public:
  /// The run must outlive this object.
  explicit Messages(Run& run) : run_(run) {}

  /// Must be called once, when the run's job is known.
  void prepare() { states_.resize(run_.job.matching.messages.size()); }

  /// Begin a send or a receive. Errors: sim.comm.peer, sim.fabric.small.
  Result<void> send(ActorId a, trace::NodeId n);
  Result<void> receive(ActorId a, trace::NodeId n);
  /// On a shared network: record that the last byte has left the sender, or has reached the receiver.
  void left(uint32_t id);
  void arrived(uint32_t id);

  /// Return whether the receive has begun but the send has not.
  bool is_unsent(size_t id) const { return states_[id].posted && !states_[id].sent; }
  Picoseconds arrival(size_t id) const { return states_[id].arrival; }
  /// Return the messages that the network prices in closed form, by first use.
  std::vector<MessageKind>& kinds() { return kinds_; }

 private:
  struct State {
    bool sent = false, posted = false, there = false;
    Picoseconds arrival = 0;
  };

  void meet(uint32_t id);
  void now_moving(const match::NodeRef& recv);
  void deliver(uint32_t id);
  void note(ActorId a, trace::NodeId n, uint64_t bytes, Picoseconds left);

  Run& run_;
  std::vector<State> states_;
  std::vector<MessageKind> kinds_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, uint64_t>, uint32_t> kind_of_;  ///< actor, slot, bytes
};

}  // namespace chakra::sim
