// Trunks: links with equal load. If messages are spread over all shortest paths by weight, equivalent switches
// carry equal loads: the eight spines of a leaf-spine fabric, the aggregation switches of a pod. Their links
// are one trunk with the sum of the rates, so that a fabric of many paths costs as much as one of few.
//
// Equivalent devices form a class of the coarsest equitable partition of the graph in which each rank is a separate
// class: any two devices of class A have equally many links of each rate and latency to, and from, the devices of
// class B. By induction over distances, they are equally far from any rank and begin equally many shortest paths of
// equal weight (shortest_paths.h): a weight comes from the rate of a link and the weight of the class at its end.
// By induction from the sender on, each device of a class receives an equal share and forwards the share by equal
// weights. So the links from A to B of one rate and latency carry equal shares of every message.
#pragma once

#include <vector>

#include "chakra/net/net.h"
#include "chakra/net/shortest_paths.h"

namespace chakra::net {

struct Trunks {
  uint32_t devices = 0;  ///< ranks, then classes of switches
  std::vector<Hop> hops;
  std::vector<uint32_t> size;  ///< by class: number of devices
  std::vector<uint32_t> of;    ///< by device of the graph: class
  std::vector<Trunk> trunks;
  std::vector<uint32_t> kind;  ///< by trunk: equal for trunks of equal rate, latency and size
  uint32_t kinds = 0;
  /// Links of trunk t: links[first[t]] .. links[first[t + 1] - 1], ascending.
  std::vector<LinkId> links;
  std::vector<uint32_t> first;
};

/// `groups`: of every device, or empty; switches of different groups are never equivalent.
/// Cost: O(rounds x links log links); few refinement rounds as a rule, at most 64: then no links are joined.
Trunks find_trunks(int64_t ranks, uint32_t devices, const std::vector<Link>& links,
                   const std::vector<uint32_t>& groups);
/// Return each link as a separate trunk.
std::vector<Hop> each_link(const std::vector<Link>& links);

}  // namespace chakra::net
