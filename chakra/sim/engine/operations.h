// Collectives of the matching as operations of their whole groups.
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/sim/engine/actor_job.h"

namespace chakra::sim {

class Operations {
 public:
  /// The job must outlive this object.
  explicit Operations(const ActorJob& job) : job_(job) {}

  /// Return the collective in which node n of actor a takes part. Valid until
  /// the next call. Cost: O(members); of an all-to-all with splits O(members^2).
  coll::Operation of(const match::Collective& c, ActorId a, trace::NodeId n);

 private:
  void find_shares(const match::Collective& c);

  const ActorJob& job_;
  std::vector<uint64_t> shares_;  ///< bytes from each place of the group to each place
};

}  // namespace chakra::sim
