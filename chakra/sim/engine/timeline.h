// The timeline of a run: a track for each queue of each actor, a slice for each node, a flow for each message.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "chakra/result/result.h"
#include "chakra/sim/engine/run.h"

namespace chakra::sim {

class TimelineWriter {
 public:
  /// Fill the report's timeline. The run must outlive this object, and its actors must be known.
  explicit TimelineWriter(Run& run);

  /// Add a node that has ended.
  void add(ActorId a, trace::NodeId n);
  /// Add the flows between slices. Must be called once, at the end.
  void finish();

 private:
  uint32_t track_of(ActorId a, trace::NodeId n);

  Run& run_;
  result::Timeline& timeline_;
  std::vector<std::vector<uint32_t>> slice_of_;                     ///< per actor and node; kNobody: no slice
  std::vector<uint32_t> first_track_;                               ///< per actor
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> group_tracks_;  ///< of actors' queues for groups
};

}  // namespace chakra::sim
