// Valiant routing (Valiant, "A scheme for fast parallel communication", 1982; for dragonflies Kim et al., 2008):
// a message goes first to a random switch, the intermediate, and then to its receiver; both legs are shortest.
// Any pattern of messages then loads the network like a random pattern, at the price of routes twice as long.
//
// Intermediates are the switches with ranks that switches alone join with the sender's switch, all
// with equal probability; for a message within a group (Graph::groups), the switches of the group.
// The switches of the sender and of the receiver are among the intermediates. Ranks of one switch
// send over that switch alone, and messages that pass through ranks take the shortest routes.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "chakra/net/net.h"
#include "chakra/net/shortest_paths.h"

namespace chakra::net {

class Valiant {
 public:
  struct Devices {
    int64_t ranks = 0;
    uint32_t count = 0;
    std::vector<uint32_t> sizes;   ///< by device: the number of devices that it represents; empty: one
    std::vector<uint32_t> groups;  ///< by device; empty: no groups
  };
  /// `paths` must outlive this object. Cost: O(hops).
  Valiant(Devices devices, std::span<const Hop> hops, const ShortestPaths& paths);

  /// The switches from which a message's intermediate is drawn; empty: the message takes the shortest routes.
  struct Pool {
    std::vector<uint32_t> switches;
    double size = 0;     ///< number of devices that these represent
    bool joined = true;  ///< by switches
  };
  /// Return the pool of a message that comes to the switch `first` and goes to rank `to`.
  const Pool& pool(uint32_t first, int64_t to) const;
  /// Append the expected share of a message that passes each trunk, each trunk once, over all intermediates;
  /// return the longest latency of a first leg plus a second leg. Legs are spread over their shortest paths.
  /// Cost: O(trunks of the routes); the first message also costs all legs from a switch and to a rank's switch.
  Picoseconds uses(int64_t from, int64_t to, std::vector<Use>& out) const;

 private:
  /// From a switch to all intermediates of a pool, or from all of them to a device: by trunk, as shares of a message.
  struct Leg {
    std::vector<Use> uses;
    Picoseconds latency = 0;
  };
  const Leg& leg(const Pool& pool, uint32_t device, bool back) const;
  uint32_t size_of(uint32_t device) const { return devices_.sizes.empty() ? 1 : devices_.sizes[device]; }

  Devices devices_;
  const ShortestPaths& paths_;
  std::vector<uint32_t> component_;  ///< by device: into pools_
  std::vector<Pool> pools_;          ///< of components, then of groups, then an empty one
  size_t first_group_ = 0;
  mutable std::mutex mutex_;
  mutable absl::flat_hash_map<std::pair<const Pool*, uint64_t>, std::unique_ptr<const Leg>> legs_;
};

}  // namespace chakra::net
