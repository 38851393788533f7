// When a collective of a run that has ended would end by other prices, and whose arrival decided when it ended.
#pragma once

#include <vector>

#include "chakra/sim/engine/operations.h"
#include "chakra/sim/engine/run.h"
#include "chakra/sim/prices.h"

namespace chakra::sim {

/// Of collectives that the network prices, in closed form.
class CollectiveEnds {
 public:
  /// Both must outlive it.
  CollectiveEnds(const Run& run, Prices& prices) : run_(run), prices_(prices), operations_(run.job) {}

  /// When the node ends, since `start`, by the members that came then alone: those of the critical path. The others
  /// move with the network, too, so no end may be held against the time at which they came. Cost: that of Prices::run.
  Picoseconds since(match::NodeRef at, Picoseconds start);
  /// The member whose arrival decided when the node ended: if it had come earlier, the node would have ended earlier
  /// (if others had, it would not). Cost: that of Prices::run, log members times.
  match::NodeRef decisive(match::NodeRef at);

 private:
  Picoseconds ends(match::NodeRef at, const std::vector<Picoseconds>& came);

  const Run& run_;
  Prices& prices_;
  Operations operations_;
  std::vector<Picoseconds> ready_;
};

}  // namespace chakra::sim
