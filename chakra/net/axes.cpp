#include "chakra/net/axes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "chakra/net/graph.h"

namespace chakra::net {
namespace {

using Table = std::vector<uint32_t>;

/// Devices that ranks' fastest links join, each named by one of them.
std::vector<uint32_t> joined_by_fastest(const Graph& graph) {
  std::vector<double> fastest(static_cast<size_t>(graph.ranks), 0);
  for (const Link& link : graph.links)
    if (link.from < graph.ranks) fastest[link.from] = std::max(fastest[link.from], link.bytes_per_s);
  std::vector<uint32_t> parent(graph.names.size());
  std::iota(parent.begin(), parent.end(), 0u);
  const auto top = [&](uint32_t d) {
    while (parent[d] != d) d = parent[d] = parent[parent[d]];
    return d;
  };
  for (const Link& link : graph.links)
    if (link.from < graph.ranks && link.bytes_per_s == fastest[link.from]) parent[top(link.from)] = top(link.to);
  for (uint32_t d = 0; d < parent.size(); ++d) parent[d] = top(d);
  return parent;
}

/// Of each rank, the first device outside its node that it is linked to.
std::vector<uint32_t> ways_out(const Graph& graph, const std::vector<uint32_t>& node) {
  std::vector<uint32_t> out(static_cast<size_t>(graph.ranks), UINT32_MAX);
  for (const Link& link : graph.links)
    if (link.from < graph.ranks && node[link.from] != node[link.to]) out[link.from] = std::min(out[link.from], link.to);
  return out;
}

}  // namespace

void add_axis(std::vector<Axis>& axes, int64_t extent, RowForm form,
              std::shared_ptr<const std::vector<uint32_t>> table) {
  axes.push_back({extent, form, axes.empty() ? 1 : axes.back().inner * axes.back().extent, std::move(table)});
}

std::vector<Axis> find_axes(const Graph& graph) {
  std::vector<Axis> axes;
  if (graph.places) {
    for (size_t level = 0; level < graph.places->children.size(); ++level)
      add_axis(axes, graph.places->children[level], RowForm::star,
               std::make_shared<const Table>(graph.places->place[level]));
    return axes;
  }
  const std::vector<uint32_t> node_of = joined_by_fastest(graph), out = ways_out(graph, node_of);
  std::map<uint32_t, std::vector<uint32_t>> nodes;  // by the device that names them
  for (uint32_t r = 0; r < graph.ranks; ++r) nodes[node_of[r]].push_back(r);
  if (nodes.size() < 2 || nodes.size() == static_cast<size_t>(graph.ranks)) return axes;
  std::vector<std::vector<uint32_t>> in_order;
  for (auto& [device, ranks] : nodes) in_order.push_back(std::move(ranks));
  std::sort(in_order.begin(), in_order.end());  // by their first ranks
  Table within(node_of.size()), number(node_of.size());
  size_t most = 0;
  for (uint32_t k = 0; k < in_order.size(); ++k) {
    std::vector<uint32_t>& ranks = in_order[k];
    std::sort(ranks.begin(), ranks.end(),
              [&](uint32_t a, uint32_t b) { return std::tie(out[a], a) < std::tie(out[b], b); });
    for (uint32_t i = 0; i < ranks.size(); ++i) {
      within[ranks[i]] = i;
      number[ranks[i]] = k;
    }
    most = std::max(most, ranks.size());
  }
  add_axis(axes, static_cast<int64_t>(most), RowForm::star, std::make_shared<const Table>(std::move(within)));
  add_axis(axes, static_cast<int64_t>(in_order.size()), RowForm::star,
           std::make_shared<const Table>(std::move(number)));
  return axes;
}

}  // namespace chakra::net
