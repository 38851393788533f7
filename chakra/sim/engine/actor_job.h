// The job that the engine runs: actors instead of ranks (fold.h), matched among themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/match/match.h"
#include "chakra/sim/fold.h"
#include "chakra/sim/prices.h"
#include "chakra/sim/sim.h"
#include "chakra/sim/storage.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// Positions of the members of a matched group, which are actors, in the whole group of ranks.
struct GroupPlaces {
  uint32_t folded = 0;                ///< into Folded::groups
  std::vector<uint32_t> first_place;  ///< per member of the matched group: its first place in the whole group
  std::vector<uint32_t> member_at;    ///< per place: the member, or kNobody
};

struct ActorJob {
  Storage storage;  ///< of the job's classes
  Folded folded;
  match::Matching matching;                      ///< of the actors
  std::vector<GroupPlaces> places;               ///< per group of `matching`
  std::vector<std::vector<uint32_t>> member_of;  ///< per actor and row of Trace::comms: the member of its collective

  const trace::Trace& trace(ActorId a) const { return folded.actors.ranks[a]; }
  /// Into Matching::collectives or Matching::messages; kNoRow: the node is unmatched.
  uint32_t match_of(ActorId a, trace::NodeId n) const { return matching.of_comm[a][trace(a).comm_row[n]]; }
  const match::Collective& collective_of(ActorId a, trace::NodeId n) const {
    return matching.collectives[match_of(a, n)];
  }
  /// Return the tier use of the node; null if it is not charged to a tier.
  const TierUse* tier_use(ActorId a, trace::NodeId n) const {
    return storage.kinds.empty() ? nullptr : storage.find(folded.class_of[a], n);
  }
  const Folded::Group& group_of(const match::Collective& c) const { return folded.groups[places[c.group].folded]; }
};

/// Take the job out of `in`, check, retarget, fold and match the job. Fill
/// the report's devices, distinct traces and findings.
/// `most_share`: FoldLimits::most_share; above it, the job has no actors.
/// Errors: sim.start, sim.trace.defect, sim.stuck.cycle, sim.fabric.small,
/// sim.device.unknown, sim.tier.unknown, sim.tier.bytes, sim.memory, sim.match.
Result<ActorJob> make_actor_job(SimInput& in, Prices& prices, SimReport& report, double most_share);

}  // namespace chakra::sim
