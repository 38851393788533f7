#include "chakra/net/graph.h"

#include <algorithm>
#include <numeric>

#include "chakra/net/axes.h"

namespace chakra::net {

void Graph::finish() {
  const auto devices = static_cast<uint32_t>(names.size());
  trunks = find_trunks(ranks, devices, links);
  places = tree_places(ranks, trunks);
  if (axes.empty()) axes = find_axes(*this);
  by_link = std::make_unique<ShortestPaths>(ranks, devices, each_link(links), metric, forwarding);
  by_trunk = std::make_unique<ShortestPaths>(ranks, trunks.devices, trunks.hops, metric, forwarding);
  // Without a circle there is one way between any two devices.
  std::vector<uint32_t> parent(devices);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto top = [&](uint32_t d) {
    while (parent[d] != d) d = parent[d] = parent[parent[d]];
    return d;
  };
  std::vector<std::pair<uint32_t, uint32_t>> joined;
  for (const Link& link : links) joined.emplace_back(std::minmax(link.from, link.to));
  std::sort(joined.begin(), joined.end());
  joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
  for (const auto& [a, b] : joined) {
    const uint32_t x = top(a), y = top(b);
    has_choice |= x == y;
    parent[x] = y;
  }
  // Links by the device where they begin: a counting sort, which keeps them in order.
  out_.first.assign(devices + size_t{1}, 0);
  for (const Link& link : links) ++out_.first[link.from + size_t{1}];
  for (size_t d = 0; d < devices; ++d) out_.first[d + 1] += out_.first[d];
  out_.links.resize(links.size());
  std::vector<uint32_t> at(out_.first.begin(), out_.first.end() - 1);
  for (LinkId l = 0; l < links.size(); ++l) out_.links[at[links[l].from]++] = l;
}

void Graph::forget_places(const std::vector<Reduction>& reductions) {
  if (std::adjacent_find(reductions.begin(), reductions.end(), std::not_equal_to<>()) != reductions.end())
    places.reset();
}

LinkId Graph::between(int64_t from, int64_t to) const {
  const auto device = static_cast<size_t>(from);
  for (uint32_t i = out_.first[device]; i < out_.first[device + 1]; ++i)
    if (links[out_.links[i]].to == to) return out_.links[i];
  return kNoLink;
}

}  // namespace chakra::net
