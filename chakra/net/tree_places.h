// Where ranks stand in a graph that looks the same from everywhere: if its trunks make a tree in which all devices of a
// level have equally many children behind equal trunks, children of a device may change places, and what ranks cost
// each other depends on how their places differ alone. Leaf-spine fabrics and fat trees are such.
#pragma once

#include <optional>
#include <vector>

#include "chakra/net/trunks.h"

namespace chakra::net {

struct TreePlaces {
  std::vector<uint32_t> children;            ///< of a device, by level, ranks' parents first
  std::vector<std::vector<uint32_t>> place;  ///< by level, of each rank: which child its ancestor is
};

/// None where the trunks are no such tree. Cost: O(trunks log trunks).
std::optional<TreePlaces> tree_places(int64_t ranks, const Trunks& trunks);

}  // namespace chakra::net
