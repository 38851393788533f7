// Equivalent ranks are simulated once, as one actor. Ranks of an actor have the same class, speed
// and begin. All groups of these ranks have equivalent places in the network and consist of the
// same actors. All peers are ranks of the same actors at the same distance. The ranks share
// per-node storage with ranks of the same actors. So all events happen at the same times. fold()
// finds the coarsest such partition by refinement: start with the classes and split distinguishable
// ranks until the partition is stable (colour refinement, as for equitable partitions of graphs).
//
// A slow rank makes every place of its groups different, and so every rank of a job of replicas; so do messages
// that take longer from some places than from others, as on a Dragonfly. If the exact partition of such a job is too
// large, the groups of many members start late: a collective begins when its last member arrives. Then only the set of
// the members matters, not their places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/device/device.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/sim/course.h"
#include "chakra/sim/prices.h"
#include "chakra/sim/sim.h"
#include "chakra/sim/storage.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

inline constexpr uint32_t kNobody = UINT32_MAX;

struct Folded {
  /// One trace per actor: that of the actor's first rank. Groups and
  /// peers are those of actors: a peer is the first rank of its actor.
  trace::TraceSet actors;
  std::vector<ActorId> actor_of;   ///< per rank of the job
  std::vector<int64_t> ranks;      ///< of the job, ascending
  std::vector<int64_t> count;      ///< per actor: number of its ranks
  std::vector<uint32_t> class_of;  ///< per actor: into ClassJob::classes
  double share = 1;                ///< nodes of the actors, of those of all ranks

  struct Group {
    std::vector<std::string> names;            ///< of all groups of the job that this group stands for
    std::vector<int64_t> ranks;                ///< of the first of these groups
    std::vector<uint32_t> actors;              ///< parallel to ranks; kNobody for a rank that is not in the job
    uint32_t shape = 0;                        ///< Prices::shape(ranks, flow)
    uint64_t flow = 0;                         ///< net::Message::flow of messages between members
    bool late_start = false;                   ///< a collective begins when its last member arrives
    std::vector<std::vector<int64_t>> places;  ///< the ranks of each of these groups
  };
  std::vector<Group> groups;
  std::optional<uint32_t> exact_members;  ///< groups with more members start late; no value: all groups are exact
  std::optional<LinkClasses> links;       ///< on shared links
  match::GroupTable table;                ///< group (its first name) -> ranks of the actors' traces

  // Per actor, by row of Trace::comms.
  std::vector<std::vector<int64_t>> peer;    ///< the rank at the other end of a message, by the job's numbers
  std::vector<std::vector<uint32_t>> slot;   ///< of the rank at the other end, in peer_of; or kNobody
  std::vector<std::vector<uint32_t>> group;  ///< into groups; kNobody for messages
  std::vector<std::vector<uint32_t>> root;   ///< member of the group; 0 if the node has no root

  /// Peers of each rank of the job: those of ranks[i] begin at first_peer[i], by slot.
  std::vector<int64_t> peer_of;
  std::vector<uint32_t> first_peer;
};

/// How to fold. `whole`: every rank is a separate actor. `shared`: transfers share links (equal_links.h). `memory`:
/// the most bytes that the actors may take. `exact_nodes`: if the actors of the exact partition have more nodes, ranks
/// may be folded with groups that start late. `most_share`: if the actors have more than this part of the nodes of all
/// ranks, no actors are made.
struct FoldLimits {
  bool whole = false, shared = false;
  uint64_t memory = UINT64_MAX;
  uint64_t exact_nodes = UINT64_MAX;
  double most_share = 1;
};

/// Fold the ranks of a job. `table` gives the members of the groups, else the job does.
/// Requires valid classes and slots of each rank. Errors: sim.memory. Contradictions
/// between ranks are detected later, by matching and running the actors. Cost: O(passes x (ranks
/// + members of groups) + nodes of the actors); few passes, at most as many as ranks.
Result<Folded> fold(trace::ClassJob&& job, const match::GroupTable& table, const device::System& system,
                    const Storage& storage, Prices& prices, const net::Fabric& fabric, const FoldLimits& limits);

}  // namespace chakra::sim
