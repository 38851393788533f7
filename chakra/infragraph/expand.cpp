// From the entries of edges to edges between nodes.
#include <fmt/core.h>

#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

using Edges = std::vector<PlacedEdge>;

void join(Edges& edges, uint32_t a, uint32_t b, uint32_t link) {
  if (a != b) edges.push_back({a, b, link});
}

/// The edges that an entry of a device, or of the infrastructure (kNone), stands for.
Result<Edges> edges_of(Model& model, const Spec& entry, uint32_t device) {
  CHAKRA_ASSIGN(const Spec* a, need(entry, "ep1", Spec::Kind::map));
  CHAKRA_ASSIGN(const Spec* b, need(entry, "ep2", Spec::Kind::map));
  CHAKRA_ASSIGN(const Spec* scheme, need(entry, "scheme"));
  CHAKRA_ASSIGN(const Spec* name, need(entry, "link"));
  const TextMap<uint32_t>& links = device == kNone ? model.links_between : model.devices[device].links;
  const auto link = links.find(name->scalar);
  if (link == links.end()) return name->error("infragraph.link", fmt::format("unknown link {}", quote(name->scalar)));
  CHAKRA_ASSIGN(const std::vector<uint32_t> from, expand_end(model, device, *a));
  CHAKRA_ASSIGN(const std::vector<uint32_t> to, expand_end(model, device, *b));
  Edges edges;
  if (scheme->scalar == "many2many") {
    CHAKRA_TRY(model.charge(entry, uint64_t{from.size()} * to.size()));
    for (const uint32_t x : from)
      for (const uint32_t y : to) join(edges, x, y, link->second);
  } else if (scheme->scalar == "one2one") {  // as Python's zip: the longer end has a rest
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) join(edges, from[i], to[i], link->second);
  } else if (scheme->scalar == "ring") {
    if (from != to) return scheme->error("infragraph.edge", "a ring needs the same components at both ends");
    for (size_t i = 0; i < from.size(); ++i) join(edges, from[i], from[(i + 1) % from.size()], link->second);
  } else {
    return scheme->error("infragraph.edge", fmt::format("unknown scheme {}", quote(scheme->scalar)));
  }
  return edges;
}

void name_device(Expansion& to, const std::string& prefix, uint32_t d) {
  for (const PlacedComponent& component : to.model.devices[d].components)
    for (int64_t i = 0; component.unit > 0 && i < component.count; ++i) {
      std::string name = fmt::format("{}.{}.{}", prefix, component.name, i);
      if (component.device != kNone) {
        name_device(to, name, component.device);
        continue;
      }
      to.names.push_back(std::move(name));
      to.is_xpu.push_back(component.is_xpu);
    }
}

Result<void> add_edge(Expansion& to, const Spec& place, const PlacedEdge& e) {
  const auto [known, added] = to.by_ends.emplace(Expansion::key_of(e.a, e.b), static_cast<uint32_t>(to.edges.size()));
  if (!added) {
    const PlacedEdge& other = to.edges[known->second];
    if (other.link == e.link) return {};
    return place.error(
        "infragraph.edge",
        fmt::format("{} and {} are joined by two links, {} and {}", quote(to.names[e.a]), quote(to.names[e.b]),
                    quote(to.model.links[other.link].name), quote(to.model.links[e.link].name)));
  }
  if (to.edges.size() >= static_cast<size_t>(kMostEdges))
    return place.error("infragraph.large", fmt::format("more than {} edges", kMostEdges));
  to.edges.push_back(e);
  return {};
}

/// The edges inside a device whose first node is `base`, and inside its nested devices.
Result<void> add_device(Expansion& to, uint32_t d, uint64_t base) {
  const PlacedDevice& device = to.model.devices[d];
  const auto offset = static_cast<uint32_t>(base);
  CHAKRA_TRY(to.model.charge(*device.spec, device.edges.size()));
  for (const PlacedEdge& e : device.edges) CHAKRA_TRY(add_edge(to, *device.spec, {e.a + offset, e.b + offset, e.link}));
  for (const PlacedComponent& component : device.components)
    for (int64_t i = 0; component.device != kNone && component.unit > 0 && i < component.count; ++i)
      CHAKRA_TRY(add_device(to, component.device, base + component.first + static_cast<uint64_t>(i) * component.unit));
  return {};
}

}  // namespace

Rate Expansion::rate_of(size_t edge) const {
  const PlacedLink& link = model.links[edges[edge].link];
  Rate rate{link.bytes_per_s, link.latency_ns};
  if (const auto at = changes.find(static_cast<uint32_t>(edge)); at != changes.end()) {
    if (at->second.bytes_per_s > 0) rate.bytes_per_s = at->second.bytes_per_s;
    if (at->second.latency_ns >= 0) rate.latency_ns = at->second.latency_ns;
  }
  return rate;
}

Result<Expansion> expand(Model model, const Spec& infrastructure) {
  Expansion to{std::move(model)};
  for (uint32_t d = 0; d < to.model.devices.size(); ++d) {
    CHAKRA_ASSIGN(const auto entries, items_of(*to.model.devices[d].spec, "edges"));
    for (const Spec& entry : entries) {
      CHAKRA_ASSIGN(const Edges edges, edges_of(to.model, entry, d));
      CHAKRA_TRY(to.model.charge(entry, edges.size()));
      to.model.devices[d].edges.insert(to.model.devices[d].edges.end(), edges.begin(), edges.end());
    }
  }
  for (const PlacedInstance& instance : to.model.instances) {
    const uint64_t size = to.model.devices[instance.device].size;
    for (int64_t i = 0; i < instance.count && size > 0; ++i)
      name_device(to, fmt::format("{}.{}", instance.name, i), instance.device);
    for (int64_t i = 0; i < instance.count && size > 0; ++i)
      CHAKRA_TRY(add_device(to, instance.device, instance.first + static_cast<uint64_t>(i) * size));
  }
  CHAKRA_ASSIGN(const auto entries, items_of(infrastructure, "edges"));
  for (const Spec& entry : entries) {
    CHAKRA_ASSIGN(const Edges edges, edges_of(to.model, entry, kNone));
    for (const PlacedEdge& edge : edges) CHAKRA_TRY(add_edge(to, entry, edge));
  }
  return to;
}

}  // namespace chakra::infragraph
