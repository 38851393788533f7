#include "chakra/net/graph.h"

#include <algorithm>
#include <numeric>

#include "chakra/net/axes.h"

namespace chakra::net {
namespace {

/// Of the fastest link's rate: slower links count as links of this rate, so that no sum of weights is 0.
constexpr double kLeastRate = 1e-100;

}  // namespace

Picoseconds Graph::far(const Link& link) const {
  switch (metric) {
    case Metric::hops: return 0;
    case Metric::latency: return link.latency_ps;
    case Metric::groups: return groups[link.from] != groups[link.to];
  }
  return 0;
}

/// Trunks, and the ways over links and trunks.
void Graph::find_paths() {
  const auto devices = static_cast<uint32_t>(names.size());
  CHAKRA_ASSERT(groups.empty() ? metric != Metric::groups : groups.size() == devices);
  trunks = find_trunks(ranks, devices, links, groups);
  double fastest = 0;
  for (const Link& link : links) fastest = std::max(fastest, link.bytes_per_s);
  const auto fill = [&](Hop& hop, const Link& link) {
    hop.far = far(link);
    hop.rate = std::max(link.bytes_per_s / fastest, kLeastRate);
  };
  for (Hop& hop : trunks.hops) fill(hop, links[trunks.links[trunks.first[hop.trunk]]]);
  places = tree_places(ranks, trunks);
  std::vector<Hop> hops = each_link(links);
  for (Hop& hop : hops) fill(hop, links[hop.trunk]);
  by_link = std::make_unique<ShortestPaths>(ranks, devices, std::move(hops), forwarding, DeviceTurns(turns));
  by_trunk = std::make_unique<ShortestPaths>(ranks, trunks.devices, trunks.hops, forwarding,
                                             DeviceTurns(turns, trunks.of, trunks.devices));
  std::vector<uint32_t> class_groups(groups.empty() ? 0 : trunks.devices);
  for (size_t d = 0; d < groups.size(); ++d) class_groups[trunks.of[d]] = groups[d];
  valiant_by_link = std::make_unique<Valiant>(Valiant::Devices{ranks, devices, {}, groups}, each_link(links), *by_link);
  valiant_by_trunk = std::make_unique<Valiant>(
      Valiant::Devices{ranks, trunks.devices, trunks.size, std::move(class_groups)}, trunks.hops, *by_trunk);
}

/// Without a circle there is one way between any two devices.
bool Graph::find_choice() const {
  const auto devices = static_cast<uint32_t>(names.size());
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
    if (x == y) return true;
    parent[x] = y;
  }
  return false;
}

void Graph::finish() {
  find_paths();
  if (axes.empty()) axes = find_axes(*this);
  has_choice = find_choice();
  const size_t devices = names.size();
  // Links by the device where they begin: a counting sort, which keeps them in order.
  out_.first.assign(devices + 1, 0);
  for (const Link& link : links) ++out_.first[link.from + size_t{1}];
  for (size_t d = 0; d < devices; ++d) out_.first[d + 1] += out_.first[d];
  out_.links.resize(links.size());
  std::vector<uint32_t> at(out_.first.begin(), out_.first.end() - 1);
  for (LinkId l = 0; l < links.size(); ++l) out_.links[at[links[l].from]++] = l;
}

void Graph::forget_places(const std::vector<Reduction>& reductions) {
  if (std::adjacent_find(reductions.begin(), reductions.end(), std::not_equal_to<>()) != reductions.end())
    places.reset(), turns = {};
}

double Graph::ways() const {
  const auto devices = static_cast<double>(names.size()), all = static_cast<double>(ranks);
  const double passing = by_link->joined_by_switches() ? devices - all : devices;
  const double orbit = turns.empty() ? 1 : static_cast<double>(DeviceTurns(turns).orbit(0));
  return passing * (all / orbit);
}

LinkId Graph::between(int64_t from, int64_t to) const {
  const auto device = static_cast<size_t>(from);
  for (uint32_t i = out_.first[device]; i < out_.first[device + 1]; ++i)
    if (links[out_.links[i]].to == to) return out_.links[i];
  return kNoLink;
}

}  // namespace chakra::net
