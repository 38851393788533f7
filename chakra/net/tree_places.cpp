#include "chakra/net/tree_places.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace chakra::net {
namespace {

/// A trunk between a device and another one, as the first one sees it.
struct End {
  uint32_t other;
  bool leaves;  ///< from the device, not to it
  uint32_t count;
  double bytes_per_s;
  Picoseconds latency_ps;

  auto looks() const { return std::tuple(leaves, count, bytes_per_s, latency_ps); }
};

std::vector<std::vector<End>> ends_of(const Trunks& trunks) {
  std::vector<std::vector<End>> ends(trunks.devices);
  for (const Hop& hop : trunks.hops) {
    const double rate = trunks.trunks[hop.trunk].bytes_per_s;
    ends[hop.from].push_back({hop.to, true, hop.count, rate, hop.latency_ps});
    ends[hop.to].push_back({hop.from, false, hop.count, rate, hop.latency_ps});
  }
  for (auto& of_device : ends)
    std::sort(of_device.begin(), of_device.end(), [](const End& a, const End& b) { return a.looks() < b.looks(); });
  return ends;
}

}  // namespace

std::optional<TreePlaces> tree_places(int64_t ranks, const Trunks& trunks) {
  if (ranks < 2) return std::nullopt;
  const std::vector<std::vector<End>> ends = ends_of(trunks);
  TreePlaces found;
  std::vector<uint32_t> level(static_cast<size_t>(ranks)), at(level.size());  // devices; of each rank, its ancestor
  std::iota(level.begin(), level.end(), 0u);
  at = level;
  std::vector<char> below(trunks.devices, 0);
  size_t seen = level.size();
  while (level.size() > 1) {
    std::map<uint32_t, std::vector<uint32_t>> families;  // parent -> children
    for (const uint32_t device : level) {
      std::vector<End> up;
      for (const End& end : ends[device])
        if (!below[end.other]) up.push_back(end);
      // One way there and one back, the same for all.
      if (up.size() != 2 || up[0].other != up[1].other || up[0].leaves == up[1].leaves) return std::nullopt;
      const uint32_t parent = up[0].other;
      if (parent < ranks) return std::nullopt;
      if (std::vector<End> first; device != level[0]) {
        for (const End& end : ends[level[0]])
          if (!below[end.other]) first.push_back(end);
        if (first[0].looks() != up[0].looks() || first[1].looks() != up[1].looks()) return std::nullopt;
      }
      families[parent].push_back(device);
    }
    const size_t children = families.begin()->second.size();
    std::vector<uint32_t> place(trunks.devices), parent_of(trunks.devices);
    for (const uint32_t device : level) below[device] = 1;
    level.clear();
    for (const auto& [parent, family] : families) {
      if (family.size() != children) return std::nullopt;
      for (uint32_t i = 0; i < children; ++i) {
        place[family[i]] = i;
        parent_of[family[i]] = parent;
      }
      level.push_back(parent);
    }
    seen += level.size();
    found.children.push_back(static_cast<uint32_t>(children));
    std::vector<uint32_t>& places = found.place.emplace_back();
    for (uint32_t& ancestor : at) {
      places.push_back(place[ancestor]);
      ancestor = parent_of[ancestor];
    }
  }
  // Nothing above the last one, and nothing beside the tree.
  const bool top =
      std::all_of(ends[level[0]].begin(), ends[level[0]].end(), [&](const End& e) { return below[e.other]; });
  return top && seen == trunks.devices ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace chakra::net
