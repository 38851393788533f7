// Links that carry alike. Where messages are spread over all shortest paths by their weights, switches that stand alike
// in the graph carry alike: the eight spines of a leaf-spine fabric, the aggregation switches of a pod. Their links are
// one trunk, with the sum of their rates, so that a fabric of many paths costs as much as one of few.
//
// Alike are devices of one class of the coarsest equitable partition of the graph in which each rank is a class of
// its own: any two devices of class A have equally many links of each rate and latency to, and from, the devices of
// class B. By induction over distances they are then as far from any rank, begin equally many shortest paths to it, and
// these have equal weights (shortest_paths.h): a weight comes from the rate of a link and the weight of the class that
// it leads to. By induction from the sender on, an equal share comes to each device of a class, and each passes it on
// by equal weights: so the links from A to B of one rate and latency carry equal shares of every message.
#pragma once

#include <vector>

#include "chakra/net/net.h"
#include "chakra/net/shortest_paths.h"

namespace chakra::net {

struct Trunks {
  uint32_t devices = 0;  ///< ranks, then classes of switches
  std::vector<Hop> hops;
  std::vector<uint32_t> size;  ///< by class: its devices
  std::vector<uint32_t> of;    ///< by device of the graph: its class
  std::vector<Trunk> trunks;
  std::vector<uint32_t> kind;  ///< by trunk: equal for those that look alike
  uint32_t kinds = 0;
  /// Links of trunk t: links[first[t]] .. links[first[t + 1] - 1], ascending.
  std::vector<LinkId> links;
  std::vector<uint32_t> first;
};

/// `groups`: of every device, or empty; switches of different groups are never alike.
/// Cost: O(rounds x links log links); rounds of refinement, few as a rule, and 64 at most: then no links are joined.
Trunks find_trunks(int64_t ranks, uint32_t devices, const std::vector<Link>& links,
                   const std::vector<uint32_t>& groups);
/// Each link its own trunk.
std::vector<Hop> each_link(const std::vector<Link>& links);

}  // namespace chakra::net
