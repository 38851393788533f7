// Shared state of a run: the job, its actors, simulated time, the network, and the report in progress.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/des/des.h"
#include "chakra/feed/feed.h"
#include "chakra/sim/engine/account.h"
#include "chakra/sim/engine/actor_job.h"
#include "chakra/sim/prices.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

struct Event {
  ActorId actor;
  trace::NodeId node;
  enum class Kind : uint32_t { ready, done, tier } kind;  ///< tier: server and turn instead (Tiers::advance)
};

/// Simulated time, and future events.
struct Agenda {
  Picoseconds now = 0;
  des::EventQueue<Event> events;

  void end_at(ActorId actor, trace::NodeId node, Picoseconds time) {
    events.push(time, {actor, node, Event::Kind::done});
  }
};

/// Return the positions of an actor's collectives in the matching, by row of Trace::comms. Cost: O(nodes).
inline std::vector<feed::Queues::Turn> turns_of(const ActorJob& job, ActorId a) {
  const trace::Trace& t = job.trace(a);
  std::vector<feed::Queues::Turn> turns(t.comms.size());
  for (const trace::NodeId n : t.nodes())
    if (t.type[n] == trace::NodeType::coll && job.match_of(a, n) != trace::kNoRow)
      turns[t.comm_row[n]] = {job.collective_of(a, n).group, job.collective_of(a, n).index};
  return turns;
}

/// Equivalent ranks, and their progress through their trace.
struct Actor {
  Actor(const ActorJob& job, ActorId a, const device::RankTraits& of_rank, feed::Graphs& graphs)
      : trace(&job.trace(a)), feeder(*trace, false, &graphs), queues(*trace, turns_of(job, a)), traits(of_rank) {}

  const trace::Trace* trace;
  feed::Feeder feeder;
  feed::Queues queues;
  device::RankTraits traits;
  bool has_device = false;
  Account account;
  Picoseconds finish = 0;
  NodeTimes times;  ///< end: -1 for nodes that have not ended
};

inline bool is_work(trace::NodeType type) {
  return type == trace::NodeType::comp || type == trace::NodeType::mem_load || type == trace::NodeType::mem_store;
}

/// Return whether the actor computes while the node runs.
inline bool computes(const Actor& actor, trace::NodeId n) {
  const trace::Trace& t = *actor.trace;
  if (!is_work(t.type[n]) || trace::is_piece_of_communication(t, n)) return false;
  if (actor.has_device) return t.on_device(n);
  const std::string_view name = t.name_of(n);
  return name != trace::kHostGap && name != trace::kInitialCondition && name != trace::kSyncRemainder;
}

/// Return whether the actor's host works while the node runs, so that its devices may wait for the host.
inline bool hosts(const Actor& actor, trace::NodeId n) {
  const trace::Trace& t = *actor.trace;
  return actor.has_device && is_work(t.type[n]) && !trace::is_piece_of_communication(t, n) && !t.on_device(n) &&
         t.name_of(n) != trace::kInitialCondition && t.name_of(n) != trace::kSyncRemainder;
}

struct Run {
  explicit Run(SimInput&& input)
      : in(std::move(input)), prices(in.fabric, in.collectives, in.congestion != Congestion::closed) {}

  SimInput in;
  Prices prices;
  ActorJob job;
  bool earliest = false;  ///< groups that start late end by the lower bound of their ends
  std::vector<Actor> actors;
  ExposedKinds exposed;
  Agenda agenda;
  std::optional<Traffic> traffic;  ///< no value in closed form
  SimReport report;

  /// Return the caller's delay of the node.
  Picoseconds delay(ActorId a, trace::NodeId n) const { return in.delays ? in.delays->of(a, n) : 0; }
  /// Return the factor for the time of priced communication.
  double transfer_factor(ActorId a, trace::NodeId n) const {
    return in.transfer_factors.empty() ? 1 : in.transfer_factors[a][job.trace(a).comm_row[n]];
  }
  /// Return the caller's time of communication after the last arrival, or null.
  const Transfers::Row* transfer(ActorId a, trace::NodeId n) const {
    return in.transfers ? in.transfers->find(a, job.trace(a).comm_row[n]) : nullptr;
  }
};

}  // namespace chakra::sim
