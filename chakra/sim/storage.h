// The nodes of a job that move data, by tier of storage (docs/reference/formats/system.md). Inside sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/trace/trace.h"

namespace chakra::sim {

/// A node that is charged to a tier.
struct TierUse {
  trace::NodeId node;
  uint32_t tier;  ///< into System::tiers
  uint32_t kind;  ///< into Storage::kinds
  uint64_t bytes;
};

struct Storage {
  std::vector<std::vector<TierUse>> of_class;  ///< ascending by node
  std::vector<std::string>
      kinds;  ///< io_kind of the nodes; "load" and "store" for nodes without one; empty: no node is charged

  /// Return the use of a node; null if the node is not charged to a tier.
  const TierUse* find(uint32_t cls, trace::NodeId n) const;
  /// Return the tiers that a class uses, ascending and unique. Cost: O(nodes with a tier).
  std::vector<uint32_t> tiers_of(uint32_t cls) const;
};

/// A MEM_LOAD or MEM_STORE node is charged to the tier that it names, else to that of System::tier_of.
/// Errors: sim.tier.unknown, sim.tier.bytes. Findings: sim.tier.none, sim.memory.free,
/// sim.compute.free. Cost: O(nodes of the classes).
Result<Storage> find_storage(const trace::ClassJob& job, const device::System& system, Findings& findings);

/// Return the users of each tier that ranks of a node share, per tier
/// and node: into ClassJob::ranks, ascending. Cost: O(ranks and tiers).
std::vector<std::vector<uint32_t>> node_mates(const trace::ClassJob& job, const Storage& storage,
                                              const device::System& system);

}  // namespace chakra::sim
