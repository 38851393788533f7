// From a file to ranks, nodes and edges with rates.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

constexpr size_t kNamedLinks = 8;  ///< in a message

/// The names of the links of edges for which `lacks` holds, for a message.
std::string lacking(const Expansion& all, bool (*lacks)(const Rate&)) {
  std::vector<std::string> found;
  std::vector<bool> seen(all.model.links.size());
  for (size_t e = 0; e < all.edges.size(); ++e) {
    const uint32_t l = all.edges[e].link;
    if (seen[l] || !lacks(all.rate_of(e))) continue;
    seen[l] = true;
    const PlacedLink& link = all.model.links[l];
    const bool transfers = link.gigatransfers > 0 && link.bytes_per_s <= 0;
    std::string name = quote(link.name) + (transfers ? " (gigatransfers, of unknown size)" : "");
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(std::move(name));
  }
  if (found.size() > kNamedLinks) {
    found.resize(kNamedLinks);
    found.push_back("...");
  }
  return join(found, ", ");
}

/// An unknown bandwidth is an error, since no value is safe. An unknown latency counts as 0.
Result<void> check_links(const Expansion& all, const Spec& place, Findings* findings) {
  if (const std::string names = lacking(all, [](const Rate& rate) { return rate.bytes_per_s <= 0; }); !names.empty())
    return place.error("infragraph.bandwidth",
                       fmt::format("links without bandwidth: {}; give 'physical: bandwidth', or annotate the links "
                                   "('400 Gbps', '50 GBps' or 'unlimited')",
                                   names));
  if (const std::string names = lacking(all, [](const Rate& rate) { return rate.latency_ns < 0; });
      !names.empty() && findings)
    findings->push_back({"infragraph.latency", Severity::warning, -1, -1,
                         fmt::format("links without latency count as 0 ns: {}", names)});
  return {};
}

/// The XPUs by rank.
Result<std::vector<uint32_t>> ranked(const Expansion& all, const Spec& place) {
  std::vector<uint32_t> nodes;
  for (uint32_t n = 0; n < all.names.size(); ++n)
    if (all.is_xpu[n]) nodes.push_back(n);
  if (nodes.empty()) return place.error("infragraph.rank", "no XPU among the components of the instances");
  if (all.ranks.empty()) return nodes;
  if (all.ranks.size() != nodes.size())
    return place.error("infragraph.rank", fmt::format("{} ranks of {} XPUs; annotate each XPU once, or none",
                                                      all.ranks.size(), nodes.size()));
  std::vector<bool> has_rank(all.names.size());
  for (const auto& [rank, node] : all.ranks) {
    if (rank >= static_cast<int64_t>(nodes.size()))
      return place.error("infragraph.rank", fmt::format("rank {} of {} XPUs", rank, nodes.size()));
    if (has_rank[node]) return place.error("infragraph.rank", fmt::format("two ranks of {}", quote(all.names[node])));
    has_rank[node] = true;
    nodes[static_cast<size_t>(rank)] = node;
  }
  return nodes;
}

}  // namespace

bool is_infragraph(const Spec& spec) {
  if (const Spec* inner = spec.find("infrastructure")) return inner->kind == Spec::Kind::map;
  const Spec *devices = spec.find("devices"), *instances = spec.find("instances");
  return devices && devices->kind == Spec::Kind::list && instances && instances->kind == Spec::Kind::list;
}

Result<Graph> read(const Spec& spec, Findings* findings) {
  const Spec* inner = spec.find("infrastructure");
  const Spec& infrastructure = inner ? *inner : spec;
  CHAKRA_ASSIGN(Model model, place(infrastructure, findings));
  CHAKRA_ASSIGN(Expansion all, expand(std::move(model), infrastructure));
  if (const Spec* annotations = inner ? spec.find("annotations") : nullptr) CHAKRA_TRY(annotate(all, *annotations));
  CHAKRA_TRY(check_links(all, infrastructure, findings));
  CHAKRA_ASSIGN(std::vector<uint32_t> nodes, ranked(all, infrastructure));
  Graph graph{static_cast<int64_t>(nodes.size()), {}, {}};
  for (uint32_t n = 0; n < all.names.size(); ++n)
    if (!all.is_xpu[n]) nodes.push_back(n);
  std::vector<uint32_t> number(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    number[nodes[i]] = i;
    graph.nodes.push_back(std::move(all.names[nodes[i]]));
  }
  for (size_t e = 0; e < all.edges.size(); ++e) {
    Rate rate = all.rate_of(e);
    rate.latency_ns = std::max(rate.latency_ns, 0.0);
    graph.edges.push_back({number[all.edges[e].a], number[all.edges[e].b], rate});
  }
  return graph;
}

}  // namespace chakra::infragraph
