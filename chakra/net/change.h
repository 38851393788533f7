// Changes of a network: all links of a class faster or
// with less latency, one link slower, several links set, one link removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::net {

struct Fabric;
struct OddLink;

/// Links of one class: the links of a dimension; in a graph the links of equal rate and latency.
struct LinkClass {
  std::string name;  ///< "dimension 0 (Ring)", "50.0 GB/s, 500 ns"
  int64_t links = 0;
};
/// Return the classes of at least one link. Cost: O(dimensions), in a graph O(links log links).
std::vector<LinkClass> link_classes(const Fabric& fabric);
/// Multiply the rate and the latency of the links of a class. Measured collectives of that dimension scale too: the
/// wire bandwidth by the rate factor, the time of a step by the latency factor; the fixed time stays. Requires a class
/// of link_classes(), and positive factors. Cost: as link_classes(), in a graph also that of finding all routes.
Fabric with_class(const Fabric& fabric, size_t link_class, double rate_factor, double latency_factor);

/// Find a link by its two devices, given as names or numbers with a dash between: "0-1",
/// "3-switch 0". Errors: net.change.link (no such devices, or no link joins the devices),
/// net.change.fits (a network with measured collectives, which were measured on whole links).
Result<std::pair<uint32_t, uint32_t>> find_link(const Fabric& fabric, std::string_view text);
/// Multiply the rate of the link, both ways. Requires a link of find_link(), and a positive factor. Errors:
/// net.graph.large.
Result<Fabric> with_slow_link(const Fabric& fabric, std::pair<uint32_t, uint32_t> link, double rate_factor);
/// Set the rate and the latency of each of these links, in its direction only. Routes follow the links. Requires links
/// of the fabric, each once. Errors: net.graph.large.
Result<Fabric> with_links(const Fabric& fabric, std::span<const OddLink> links);
/// Remove the link, both ways; messages take the shortest remaining routes. A network of dimensions becomes a
/// graph. Requires a link of find_link(). Errors: net.graph.large,
/// net.graph.unreachable. Cost: O(links log devices) for each rank.
Result<Fabric> without_link(const Fabric& fabric, std::pair<uint32_t, uint32_t> link);
/// Return the same links as a graph; a graph is returned unchanged. Cost: as without_link().
Fabric as_graph(const Fabric& fabric);

}  // namespace chakra::net
