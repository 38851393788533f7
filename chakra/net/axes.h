// Where the ranks of a graph stand, as far as its links say it: the levels of a tree of switches, or nodes. A node is
// the ranks that hang on one device by the fastest of their links (NVLink beside network cards), and a rank's place in
// it follows the switch of its network card, so that equal places are on one rail.
#pragma once

#include <vector>

#include "chakra/net/net.h"

namespace chakra::net {

struct Graph;

/// Adds an axis outside the others.
void add_axis(std::vector<Axis>& axes, int64_t extent, RowForm form,
              std::shared_ptr<const std::vector<uint32_t>> table = {});

/// Requires the graph's links, and its places where it is a tree. Empty where all ranks, or none, share a first device.
/// Cost: O(links log ranks).
std::vector<Axis> find_axes(const Graph& graph);

}  // namespace chakra::net
