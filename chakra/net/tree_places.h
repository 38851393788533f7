// The places of ranks in a symmetric graph. If the trunks make a tree in which all devices of a level have
// equally many children behind equal trunks, the children of a device are interchangeable. The cost between
// ranks then depends only on how their places differ. Leaf-spine fabrics and fat trees are such trees.
#pragma once

#include <optional>
#include <vector>

#include "chakra/net/trunks.h"

namespace chakra::net {

struct TreePlaces {
  std::vector<uint32_t> children;            ///< of a device, by level, parents of ranks first
  std::vector<std::vector<uint32_t>> place;  ///< by level, of each rank: which child its ancestor is
};

/// Return the places, or nullopt if the trunks are no such tree. Cost: O(trunks log trunks).
std::optional<TreePlaces> tree_places(int64_t ranks, const Trunks& trunks);

}  // namespace chakra::net
