// A network of any devices and links.
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
#include "chakra/net/valiant.h"

namespace chakra::net {

/// Ranks times the devices that pass messages on: what ways between them there are to keep, at 48 bytes each.
inline constexpr int64_t kMostWays = int64_t{1} << 26;

struct Graph {
  std::string title = "graph";  ///< the name of the shape that built it
  int64_t ranks = 0;
  std::vector<std::string> names;  ///< of all devices
  std::vector<Link> links;
  /// Of every device, the group of a network of groups (Dragonfly); empty: the network has no groups.
  std::vector<uint32_t> groups;
  Metric metric = Metric::hops;
  bool forwarding = true;  ///< ranks pass messages on where no way leads through switches alone

  std::vector<Axis> axes;  ///< where ranks stand; found by finish() where nobody said it

  Trunks trunks;
  std::optional<TreePlaces> places;
  std::unique_ptr<const ShortestPaths> by_link, by_trunk;
  std::unique_ptr<const Valiant> valiant_by_link, valiant_by_trunk;
  bool has_choice = false;  ///< two ranks may be joined by several shortest routes

  /// Fills the rest. To be called once, when links are complete.
  void finish();
  LinkId between(int64_t from, int64_t to) const;
  /// Groups under switches that reduce at different rates do not stand alike.
  void forget_places(const std::vector<Reduction>& reductions);

 private:
  /// What a link adds to the distance that the metric counts before hops.
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
