#include "chakra/view/parts.h"

#include <algorithm>

namespace chakra::view {
namespace {

constexpr double kTooSmall = 0.002;  ///< of time and nodes: not opened

Part part_of(const PathTree& tree, uint32_t branch) { return {{branch}, kNone, tree.branches[branch].weight}; }

/// The heaviest of them, and the others together, so that there are at most `most`.
std::vector<Part> heaviest(std::vector<Part> parts, size_t most) {
  if (parts.size() <= most) return parts;
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.weight > b.weight; });
  Part others;
  for (size_t i = most - 1; i < parts.size(); ++i) {
    others.weight += parts[i].weight;
    if (parts[i].own != kNone) others.own = parts[i].own;
    others.branches.insert(others.branches.end(), parts[i].branches.begin(), parts[i].branches.end());
  }
  parts.resize(most - 1);
  parts.push_back(std::move(others));
  return parts;
}

/// The nodes of a branch itself, and each branch below it.
std::vector<Part> open(const PathTree& tree, uint32_t number) {
  const Branch& branch = tree.branches[number];
  std::vector<Part> pieces;
  if (branch.own > 0) {
    double below = 0;
    for (const uint32_t c : branch.children) below += tree.branches[c].weight;
    pieces.push_back({{}, number, std::max(0.0, branch.weight - below)});
  }
  for (const uint32_t c : branch.children) pieces.push_back(part_of(tree, c));
  return pieces;
}

/// The heaviest that can be opened; the number of parts if none can. `closed`: branches that there was no room to open.
size_t find_heaviest(const PathTree& tree, const std::vector<Part>& parts, const std::vector<uint32_t>& closed) {
  const auto can_open = [&](const Part& part) {
    return part.branches.size() == 1 && part.own == kNone && part.weight > kTooSmall &&
           !tree.branches[part.first()].children.empty() &&
           std::find(closed.begin(), closed.end(), part.first()) == closed.end();
  };
  size_t best = parts.size();
  for (size_t p = 0; p < parts.size(); ++p)
    if (can_open(parts[p]) && (best == parts.size() || parts[p].weight > parts[best].weight)) best = p;
  return best;
}

}  // namespace

std::vector<Part> divide(const PathTree& tree, size_t most) {
  CHAKRA_ASSERT(most >= 2);
  std::vector<Part> lanes;
  for (const uint32_t root : tree.roots) lanes.push_back(part_of(tree, root));
  std::vector<Part> parts = heaviest(std::move(lanes), most);
  std::vector<uint32_t> closed;
  for (;;) {
    const size_t best = find_heaviest(tree, parts, closed);
    if (best == parts.size()) return parts;
    const uint32_t branch = parts[best].first();
    std::vector<Part> pieces = open(tree, branch);
    const size_t room = most - parts.size() + 1;
    if (pieces.size() > room && room < 3) {
      closed.push_back(branch);
      continue;
    }
    pieces = heaviest(std::move(pieces), std::min(room, std::max<size_t>(3, most / 3)));
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best));
    parts.insert(parts.begin() + static_cast<ptrdiff_t>(best), pieces.begin(), pieces.end());
  }
}

std::vector<uint32_t> parts_of_nodes(const PathTree& tree, const std::vector<Part>& parts) {
  std::vector<uint32_t> whole(tree.branches.size(), kNone), own(tree.branches.size(), kNone);
  for (uint32_t p = 0; p < parts.size(); ++p) {
    for (const uint32_t b : parts[p].branches) whole[b] = p;
    if (parts[p].own != kNone) own[parts[p].own] = p;
  }
  for (uint32_t b = 0; b < tree.branches.size(); ++b)  // parents stand before their children
    if (whole[b] == kNone && tree.branches[b].parent != kNone) whole[b] = whole[tree.branches[b].parent];
  std::vector<uint32_t> of_nodes(tree.branch_of.size(), kNone);
  for (size_t n = 0; n < of_nodes.size(); ++n)
    if (const uint32_t b = tree.branch_of[n]; b != kNone) of_nodes[n] = own[b] != kNone ? own[b] : whole[b];
  return of_nodes;
}

}  // namespace chakra::view
