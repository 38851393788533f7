// The coordinates of the ranks of a graph, as far as the links show them: the levels of a tree of switches, or
// nodes. A node is a set of ranks that hang on one device by their fastest links (NVLink rather than network cards).
// The place of a rank in its node follows the switch of the rank's network card, so that equal places share a rail.
#pragma once

#include <vector>

#include "chakra/net/net.h"

namespace chakra::net {

struct Graph;

/// Add an axis outside all others.
void add_axis(std::vector<Axis>& axes, int64_t extent, RowForm form,
              std::shared_ptr<const std::vector<uint32_t>> table = {});

/// Find the axes. Requires the graph's links, and the places if the graph is a tree. Empty
/// if all ranks share a first device, or if no two ranks do. Cost: O(links log ranks).
std::vector<Axis> find_axes(const Graph& graph);

}  // namespace chakra::net
