// Tree of paths of the nodes of a trace. The path of a node is the lane, then the names of the callers from the
// outermost to the first operator. Without callers, the path consists of the parts of the node name ("layer3.mlp.up").
// Numbers in names are removed, so that repetitions share a path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::view {

inline constexpr uint32_t kNone = UINT32_MAX;

struct Branch {
  uint32_t parent = kNone;
  StringId pattern = 0;
  StringId name = 0;     ///< the first name in the branch
  bool several = false;  ///< names differ
  int64_t own = 0;       ///< nodes at this branch itself
  int64_t count = 0;     ///< including all branches below
  double time = 0;
  double weight = 0;  ///< share of all time plus share of all nodes
  std::vector<uint32_t> children;
};

struct PathTree {
  std::vector<Branch> branches;     ///< parents before children
  std::vector<uint32_t> roots;      ///< one per lane
  std::vector<uint32_t> branch_of;  ///< per node; kNone: the node is not kept
  StringPool strings;

  uint32_t root_of(uint32_t branch) const;
  std::string shown(uint32_t branch) const;  ///< the name, for people
};

/// Build the tree of the kept nodes. Cost: O(nodes * callers of a node log branches).
PathTree grow_paths(const trace::Trace& trace, const std::vector<char>& keep);

}  // namespace chakra::view
