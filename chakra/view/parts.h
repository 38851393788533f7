// Divide a tree of paths into a few parts, a box each. Start with a part for each lane. Repeatedly split the part with
// the largest weight (time and number of nodes) while more parts are allowed.
#pragma once

#include <cstdint>
#include <vector>

#include "chakra/view/paths.h"

namespace chakra::view {

/// A box: whole branches, and optionally the nodes of one branch without the branches below.
struct Part {
  std::vector<uint32_t> branches;
  uint32_t own = kNone;
  double weight = 0;

  bool others() const { return branches.size() + (own != kNone) > 1; }
  uint32_t first() const { return branches.empty() ? own : branches[0]; }
};

/// Return at most `most` parts, but at least two.
std::vector<Part> divide(const PathTree& tree, size_t most);

/// Return the part of each node; kNone: the node is not kept.
std::vector<uint32_t> parts_of_nodes(const PathTree& tree, const std::vector<Part>& parts);

}  // namespace chakra::view
