// After a run: the end of a collective under other prices, and the member that decided the end.
#pragma once

#include <vector>

#include "chakra/sim/engine/operations.h"
#include "chakra/sim/engine/run.h"
#include "chakra/sim/prices.h"

namespace chakra::sim {

/// For collectives that the network prices, in closed form.
class CollectiveEnds {
 public:
  /// Both must outlive this object.
  CollectiveEnds(const Run& run, Prices& prices) : run_(run), prices_(prices), operations_(run.job) {}

  /// Return the time from `start` to the node's end, given only the members that came then: those of the critical
  /// path. Arrivals of others change with the network, so no end may be compared with them. Cost: that of Prices::run.
  Picoseconds since(match::NodeRef at, Picoseconds start);
  /// Return the member that decided the end of the node: an earlier arrival of this member would have made the
  /// end earlier (earlier arrivals of other members would not). Cost: that of Prices::run, log members times.
  match::NodeRef decisive(match::NodeRef at);

 private:
  Picoseconds ends(match::NodeRef at, const std::vector<Picoseconds>& came);

  const Run& run_;
  Prices& prices_;
  Operations operations_;
  std::vector<Picoseconds> ready_;
};

}  // namespace chakra::sim
