// The plan of an operation in the fabric: the same plan that the simulator would price, from this rank's side.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/net/net.h"
#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/units.h"

namespace chakra::replay_fabric {

/// This rank's parts of an operation. A message is a plan of one part; the other rank is member 0.
struct Prepared {
  /// Must be the same text at all participants: "ALL_REDUCE of 4096 bytes by ring among 4".
  std::string agreement;
  UnitLayout layout;
  std::vector<coll::Part> parts;
};

/// Chooses algorithms as the simulator does, on the same network and by the same rules.
class Plans {
 public:
  Plans(net::Fabric network, coll::Selection selection)
      : network_(std::move(network)), selection_(std::move(selection)) {}

  /// Return the plan of an operation. Plans are cached by operation, size and members, except
  /// those of all-to-alls with uneven splits. Errors: replay.fabric.bytes, replay.fabric.splits,
  /// replay.fabric.ranks. Cost: coll::choose() and coll::parts_of() for a new plan.
  Result<std::shared_ptr<const Prepared>> prepare(const replay::Operation& operation);

 private:
  Result<std::shared_ptr<const Prepared>> make(const replay::Operation& operation) const;
  Result<void> make_uneven(const replay::Operation& operation, const coll::Place& place, Prepared& prepared) const;

  net::Fabric network_;
  coll::Selection selection_;
  std::map<std::string, std::shared_ptr<const Prepared>> kept_;
};

}  // namespace chakra::replay_fabric
