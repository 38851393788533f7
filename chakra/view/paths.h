// The tree of paths of a trace's nodes. A node's path is its lane, then the names of what called it from the outside
// in, down to the first operator; where nothing called it, the parts of its own name ("layer3.mlp.up"). Numbers in
// names are left out, so that what repeats is one.
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
  StringId name = 0;     ///< the first of its names
  bool several = false;  ///< names differ
  int64_t own = 0;       ///< nodes that are this and nothing below it
  int64_t count = 0;     ///< all below included
  double time = 0;
  double weight = 0;  ///< its share of all time and of all nodes, added
  std::vector<uint32_t> children;
};

struct PathTree {
  std::vector<Branch> branches;     ///< parents before their children
  std::vector<uint32_t> roots;      ///< a lane each
  std::vector<uint32_t> branch_of;  ///< per node; kNone: of a node that is not kept
  StringPool strings;

  uint32_t root_of(uint32_t branch) const;
  std::string shown(uint32_t branch) const;  ///< its name, for people
};

/// The tree of the kept nodes. Cost: O(nodes * callers of a node log branches).
PathTree grow_paths(const trace::Trace& trace, const std::vector<char>& keep);

}  // namespace chakra::view
