// A network of arbitrary devices and links.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chakra/net/net.h"
#include "chakra/net/shortest_paths.h"
#include "chakra/net/tree_places.h"
#include "chakra/net/trunks.h"
#include "chakra/net/turns.h"
#include "chakra/net/valiant.h"

namespace chakra::net {

/// The limit of ways, of 48 bytes each: one from each forwarding device to each rank, but to
/// one rank alone of those that turns map onto each other.
inline constexpr int64_t kMostWays = int64_t{1} << 26;

struct Graph {
  std::string title = "graph";  ///< the name of the shape that built it
  int64_t ranks = 0;
  std::vector<std::string> names;  ///< names of all devices
  std::vector<Link> links;
  /// For every device, the group in a network of groups (Dragonfly); empty: the network has no groups.
  std::vector<uint32_t> groups;
  Metric metric = Metric::hops;
  bool forwarding = true;  ///< ranks forward messages if no route leads through switches alone

  std::vector<Axis> axes;  ///< coordinates of ranks; finish() finds them if not given

  Turns turns;  ///< of the devices, that map the graph onto itself; a shape lists them

  Trunks trunks;
  std::optional<TreePlaces> places;
  std::unique_ptr<const ShortestPaths> by_link, by_trunk;
  std::unique_ptr<const Valiant> valiant_by_link, valiant_by_trunk;
  bool has_choice = false;  ///< several shortest routes may join two ranks

  /// Fill the remaining members. Call once, when links are complete.
  void finish();
  LinkId between(int64_t from, int64_t to) const;
  /// Return the number of ways that are kept once every rank has received a message. O(links of a device).
  double ways() const;
  /// Drop `places` and `turns` if switches reduce at different rates: groups below such switches are not equivalent.
  void forget_places(const std::vector<Reduction>& reductions);

 private:
  /// Return the distance that the metric counts before hops, for one link.
  Picoseconds far(const Link& link) const;
  void find_paths();
  bool find_choice() const;

  struct ByDevice {
    std::vector<uint32_t> first;  ///< into links
    std::vector<LinkId> links;    ///< that begin at a device, one after the other
  };
  ByDevice out_;
};

}  // namespace chakra::net
