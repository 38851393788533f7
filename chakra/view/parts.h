// Divides a tree of paths into few parts, a box each. We begin with a part for each lane and open the heaviest part (by
// time and number of nodes) as long as there may be more parts.
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/view/paths.h"

namespace chakra::view {

/// A box: branches with all below them, and the nodes of one branch without what is below it.
struct Part {
  std::vector<uint32_t> branches;
  uint32_t own = kNone;
  double weight = 0;

  bool others() const { return branches.size() + (own != kNone) > 1; }
  uint32_t first() const { return branches.empty() ? own : branches[0]; }
};

/// At most `most` parts, two at least.
std::vector<Part> divide(const PathTree& tree, size_t most);

/// The part of each node; kNone: of a node that is not kept.
std::vector<uint32_t> parts_of_nodes(const PathTree& tree, const std::vector<Part>& parts);

}  // namespace chakra::view
