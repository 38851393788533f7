// Network files that give dimensions.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/net/file_parts.h"

namespace chakra::net {
namespace {

constexpr size_t kMostDimensions = 64;
constexpr int64_t kMostLinks = int64_t{1} << 32;

Result<void> read_slow_links(const Spec& list, Fabric& fabric) {
  if (list.kind != Spec::Kind::list) return list.error("net.file.key", "'slow_links' must be a list of links");
  for (const Spec& item : list.items) {
    CHAKRA_ASSIGN(const LinkEntry entry, read_link(item));
    if (entry.gib_per_s < 0 && entry.latency_ns < 0)
      return item.error("net.file.key", "a slow link needs 'bandwidth' or 'latency'");
    CHAKRA_ASSIGN(int64_t from, entry.from->integer());
    CHAKRA_ASSIGN(int64_t to, entry.to->integer());
    for (int way = 0; way < (entry.both ? 2 : 1); ++way, std::swap(from, to)) {
      const LinkId id = fabric.link_between(from, to);
      if (id == kNoLink) return item.error("net.file.link", fmt::format("no link joins device {} to {}", from, to));
      const Link usual = fabric.link(id);
      fabric.odd_links.push_back({id, entry.gib_per_s < 0 ? usual.bytes_per_s : bytes_per_s(entry.gib_per_s),
                                  entry.latency_ns < 0 ? usual.latency_ps : latency_ps(entry.latency_ns)});
    }
  }
  auto& odd = fabric.odd_links;
  std::sort(odd.begin(), odd.end(), [](const OddLink& a, const OddLink& b) { return a.link < b.link; });
  const auto twice =
      std::adjacent_find(odd.begin(), odd.end(), [](const OddLink& a, const OddLink& b) { return a.link == b.link; });
  if (twice == odd.end()) return {};
  const Link link = fabric.link(twice->link);
  return list.error("net.file.link", fmt::format("duplicate link from device {} to {}", link.from, link.to));
}

void note_unknown_keys(const Spec& spec, Findings& findings) {
  LimitedFindings unknown;
  for (const SpecField& field : spec.fields)
    if (const auto& key = field.key; key != "topology" && key != "npus_count" && key != "bandwidth" &&
                                     key != "latency" && key != "slow_links" && key != "collectives" &&
                                     key != "reduction" && key != "routing" && key != "channels" && key != "seed" &&
                                     key != "burst")
      unknown.add({"net.file.unknown_key", Severity::warning, -1, -1,
                   fmt::format("{}: the key {} has no effect", field.value.place().text(), quote(key))});
  std::move(unknown).append_to(findings);
}

Result<TopologyKind> read_topology(const Spec& spec) {
  CHAKRA_ASSIGN(const std::string name, spec.string());
  if (const TopologyRow* row = find_row(kTopologies, name)) return row->kind;
  return spec.error("net.file.value", fmt::format("no topology {}; known: {}", quote(name), names_of(kTopologies)));
}

/// 'reduction'. One for all dimensions is for those that have switches.
Result<void> read_by_dimension(const Spec& spec, Fabric& fabric) {
  CHAKRA_ASSIGN(fabric.reductions, read_reductions(spec, fabric.dimensions.size(), "one per dimension"));
  bool any = false;
  for (size_t d = 0; d < fabric.dimensions.size(); ++d) {
    Reduction& reduction = fabric.reductions[d];
    if (reduction.bytes_per_s == 0) continue;
    const TopologyRow& topology = fabric.dimensions[d].topology();
    if (topology.has_switch()) any = true;
    else if (spec.kind != Spec::Kind::list) reduction = {};
    else return spec.items[d].error("net.file.value", fmt::format("a {} has no switch that can reduce", topology.name));
  }
  if (!any && spec.kind == Spec::Kind::map)
    return spec.error("net.file.value", "no dimension has a switch that can reduce");
  if (!any) fabric.reductions.clear();
  return {};
}

}  // namespace

Result<Fabric> parse_dimensions(const Spec& spec, Findings* findings) {
  const auto list = [&](const char* key) -> Result<const Spec*> {
    const Spec* found = spec.find(key);
    if (found && found->kind == Spec::Kind::list && !found->items.empty()) return found;
    std::string or_shape;
    if (found && found->kind == Spec::Kind::scalar && key == std::string_view("topology"))
      or_shape = "; or one of " + names_of(kShapes);
    return spec.error("net.file.key",
                      fmt::format("the network needs a list {}, one entry per dimension{}", quote(key), or_shape));
  };
  CHAKRA_ASSIGN(const Spec* topologies, list("topology"));
  CHAKRA_ASSIGN(const Spec* counts, list("npus_count"));
  CHAKRA_ASSIGN(const Spec* bandwidths, list("bandwidth"));
  CHAKRA_ASSIGN(const Spec* latencies, list("latency"));
  const size_t dimensions = topologies->items.size();
  for (const Spec* other : {counts, bandwidths, latencies})
    if (other->items.size() != dimensions)
      return other->error("net.file.value",
                          fmt::format("{} entries here, but {} in 'topology'", other->items.size(), dimensions));
  if (dimensions > kMostDimensions)
    return topologies->error("net.file.value", fmt::format("more than {} dimensions", kMostDimensions));
  if (findings) note_unknown_keys(spec, *findings);

  Fabric fabric;
  for (size_t i = 0; i < dimensions; ++i) {
    Dimension d;
    CHAKRA_ASSIGN(d.kind, read_topology(topologies->items[i]));
    CHAKRA_ASSIGN(d.ranks, counts->items[i].integer());
    CHAKRA_ASSIGN(d.gib_per_s, read_bandwidth(bandwidths->items[i]));
    CHAKRA_ASSIGN(d.latency_ns, read_latency(latencies->items[i]));
    if (d.ranks < 1 || d.ranks > kMostRanks)
      return counts->items[i].error("net.file.value", fmt::format("{} ranks; expected 1 to {}", d.ranks, kMostRanks));
    if (fabric.size() > kMostRanks / d.ranks)
      return counts->error("net.file.value", fmt::format("more than {} ranks", kMostRanks));
    fabric.dimensions.push_back(d);
  }
  int64_t links = 0;  // below 64 * 2^48
  for (const Dimension& d : fabric.dimensions)
    if (d.ranks > 1) links += fabric.size() / d.ranks * d.topology().links(d.ranks);
  if (links >= kMostLinks)
    return counts->error("net.file.value", fmt::format("{} links; at most {}", links, kMostLinks - 1));
  if (const Spec* slow = spec.find("slow_links")) CHAKRA_TRY(read_slow_links(*slow, fabric));
  if (const Spec* reduction = spec.find("reduction")) CHAKRA_TRY(read_by_dimension(*reduction, fabric));
  if (const Spec* fits = spec.find("collectives")) {
    if (!fabric.odd_links.empty())
      return fits->error("net.file.value", "'collectives' were measured on identical links: leave out 'slow_links'");
    CHAKRA_TRY(read_fits(*fits, fabric));
  }
  return fabric;
}

}  // namespace chakra::net
