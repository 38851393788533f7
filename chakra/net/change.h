// A network that is another one but for some of its links: all links of a class faster or nearer, one link slower, one
// link gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::net {

struct Fabric;

/// Links that are alike: those of a dimension; in a graph those of equal rate and latency.
struct LinkClass {
  std::string name;  ///< "dimension 0 (Ring)", "50.0 GB/s, 500 ns"
  int64_t links = 0;
};
/// Classes of at least one link. Cost: O(dimensions), in a graph O(links log links).
std::vector<LinkClass> link_classes(const Fabric& fabric);
/// The rate and the latency of the links of a class are multiplied. Measured collectives of that dimension follow:
/// what they send by the rate, the time of a step by the latency; their fixed time stays. Requires a class of
/// link_classes(), and positive factors. Cost: as link_classes(), in a graph also that of finding all routes.
Fabric with_class(const Fabric& fabric, size_t link_class, double rate_factor, double latency_factor);

/// The two devices of a link, by name or number, with a dash between: "0-1", "3-switch 0".
/// Errors: net.change.link (no such devices, or no link joins them), net.change.fits (a network with measured
/// collectives, which were measured on whole links).
Result<std::pair<uint32_t, uint32_t>> find_link(const Fabric& fabric, std::string_view text);
/// The rate of the link is multiplied, both ways. Requires a link of find_link(), and a positive factor.
Fabric with_slow_link(const Fabric& fabric, std::pair<uint32_t, uint32_t> link, double rate_factor);
/// Without the link, both ways; messages take the shortest routes that are left. A network of dimensions becomes a
/// graph. Requires a link of find_link(). Errors: net.graph.unreachable. Cost: O(links log devices) for each rank.
Result<Fabric> without_link(const Fabric& fabric, std::pair<uint32_t, uint32_t> link);
/// The same links as a graph; itself where it is one. Cost: as without_link().
Fabric as_graph(const Fabric& fabric);

}  // namespace chakra::net
