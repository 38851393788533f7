// Ranks that nothing tells apart are simulated once. An actor stands for ranks of one class whose groups stand
// alike in the network and are made up of the same actors, whose peers are ranks of the same actors at the same
// distance, which share the storage of their nodes with ranks of the same actors, and which are as fast and begin as
// late: all they do happens at the same times. fold() finds the
// coarsest such partition by refining: it begins with the classes and splits what can be told apart until
// nothing can (colour refinement, as for equitable partitions of graphs).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/device/device.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/sim/prices.h"
#include "chakra/sim/sim.h"
#include "chakra/sim/storage.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

inline constexpr uint32_t kNobody = UINT32_MAX;

struct Folded {
  /// One trace per actor: that of the first rank it stands for. Groups and peers are those of actors: a peer is
  /// the rank whose trace its actor has.
  trace::TraceSet actors;
  std::vector<ActorId> actor_of;   ///< per rank of the job
  std::vector<int64_t> ranks;      ///< of the job, ascending
  std::vector<int64_t> count;      ///< per actor: ranks that it stands for
  std::vector<uint32_t> class_of;  ///< per actor: into ClassJob::classes

  struct Group {
    std::vector<std::string> names;            ///< of the groups of the job that it stands for
    std::vector<int64_t> ranks;                ///< of the first of them
    std::vector<uint32_t> actors;              ///< parallel to ranks; kNobody for one that is not in the job
    uint32_t shape = 0;                        ///< Prices::shape(ranks, flow)
    uint64_t flow = 0;                         ///< net::Message::flow of what its members send each other
    std::vector<std::vector<int64_t>> places;  ///< the ranks of each of them
  };
  std::vector<Group> groups;
  match::GroupTable table;  ///< group (its first name) -> ranks of the actors' traces

  // Per actor, by row of Trace::comms.
  std::vector<std::vector<int64_t>> peer;    ///< the rank at the other end of a message, as the job has it
  std::vector<std::vector<uint32_t>> slot;   ///< of the rank at the other end, in peer_of; or kNobody
  std::vector<std::vector<uint32_t>> group;  ///< into groups; kNobody for messages
  std::vector<std::vector<uint32_t>> root;   ///< member of the group; 0 where none is named

  /// With which ranks those of the job exchange messages: ranks[i] from first_peer[i] on, by slot.
  std::vector<int64_t> peer_of;
  std::vector<uint32_t> first_peer;
};

/// Members of the groups are those of `table`, else those of the job. `whole`: every rank is its own actor.
/// Requires that the class and the slots of each rank exist. Ranks that do not agree with each other are found by
/// matching the actors, and by running them. Cost: O(passes x (ranks + members of groups) + nodes of the actors); few
/// passes, at most as many as ranks.
Folded fold(trace::ClassJob&& job, const match::GroupTable& table, const device::System& system, const Storage& storage,
            Prices& prices, const net::Fabric& fabric, bool whole);

}  // namespace chakra::sim
