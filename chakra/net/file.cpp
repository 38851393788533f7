// Network files: dimensions, or devices and links (docs/reference/formats/network.md).
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

#include "chakra/base/text_map.h"
#include "chakra/net/graph.h"
#include "chakra/net/net.h"

namespace chakra::net {
namespace {

constexpr int64_t kMostRanks = int64_t{1} << 24;
constexpr size_t kMostDimensions = 64;
constexpr int64_t kMostLinks = int64_t{1} << 32;
/// Ranks times the devices that pass messages on: what ways between them there are to keep, at 32 bytes each.
constexpr int64_t kMostWays = int64_t{1} << 26;

double bytes_per_s(double gib_per_s) { return Dimension{TopologyKind::ring, 1, gib_per_s, 0}.bytes_per_s(); }
Picoseconds latency_ps(double ns) { return Dimension{TopologyKind::ring, 1, 1, ns}.latency_ps(); }

Result<double> read_bandwidth(const Spec& spec) {
  CHAKRA_ASSIGN(const double value, spec.number());
  if (!(value > 0) || value > 1e9) return spec.error("net.file.value", fmt::format("a bandwidth of {} GB/s", value));
  return value;
}
Result<double> read_latency(const Spec& spec) {
  CHAKRA_ASSIGN(const double value, spec.number());
  if (value < 0 || value > 1e12) return spec.error("net.file.value", fmt::format("a latency of {} ns", value));
  return value;
}

/// The first key that is none of these.
const SpecField* unknown_key(const Spec& spec, std::initializer_list<std::string_view> known) {
  for (const SpecField& field : spec.fields)
    if (std::find(known.begin(), known.end(), field.key) == known.end()) return &field;
  return nullptr;
}

/// A link as files name it. Bandwidth and latency: -1 where it is not said.
struct LinkEntry {
  const Spec* from;
  const Spec* to;
  double gib_per_s = -1;
  double latency_ns = -1;
  bool both = true;
};

Result<LinkEntry> read_link(const Spec& spec) {
  if (spec.kind != Spec::Kind::map)
    return spec.error("net.file.key", "a link is written {from: 0, to: 1, bandwidth: 50, latency: 500}");
  if (const SpecField* field = unknown_key(spec, {"from", "to", "bandwidth", "latency", "both"}))
    return field->value.error("net.file.key", fmt::format("a link has no {}", quote(field->key)));
  LinkEntry entry{spec.find("from"), spec.find("to")};
  if (!entry.from || !entry.to) return spec.error("net.file.key", "a link needs 'from' and 'to'");
  if (const Spec* value = spec.find("bandwidth")) {
    CHAKRA_ASSIGN(entry.gib_per_s, read_bandwidth(*value));
  }
  if (const Spec* value = spec.find("latency")) {
    CHAKRA_ASSIGN(entry.latency_ns, read_latency(*value));
  }
  if (const Spec* value = spec.find("both")) {
    CHAKRA_ASSIGN(entry.both, value->boolean());
  }
  return entry;
}

/// 'routing', 'channels' and 'seed'.
Result<void> read_routing(const Spec& spec, RoutingOptions& options, Findings* findings) {
  if (const Spec* routing = spec.find("routing")) {
    CHAKRA_ASSIGN(const std::string text, routing->string());
    auto parsed = parse_routing(text);
    if (!parsed) return routing->error(parsed.error().tag, parsed.error().text);
    options = *parsed;
  }
  for (const char* key : {"channels", "seed"}) {
    const Spec* value = spec.find(key);
    if (!value) continue;
    CHAKRA_ASSIGN(const int64_t number, value->integer());
    const bool is_seed = key == std::string_view("seed");
    if (number < (is_seed ? 0 : 1) || (!is_seed && number > kMostChannels))
      return value->error("net.routing", fmt::format("{} is {}; expected {}", quote(key), number,
                                                     is_seed ? "a seed of 0 or more" : "1 to 256 channels"));
    if (options.kind != Routing::ecmp && findings)
      findings->push_back(
          {"net.file.unknown_key", Severity::warning, -1, -1,
           fmt::format("{}: the key {} has no effect: it is for 'routing: ecmp'", value->place().text(), quote(key))});
    if (is_seed) options.seed = static_cast<uint64_t>(number);
    else options.channels = static_cast<uint32_t>(number);
  }
  return {};
}

// ---- dimensions --------------------------------------------------------------------------------------

Result<void> read_slow_links(const Spec& list, Fabric& fabric) {
  if (list.kind != Spec::Kind::list) return list.error("net.file.key", "'slow_links' is a list of links");
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

Result<Fabric> parse_dimensions(const Spec& spec, Findings* findings) {
  const auto list = [&](const char* key) -> Result<const Spec*> {
    const Spec* found = spec.find(key);
    if (!found || found->kind != Spec::Kind::list || found->items.empty())
      return spec.error("net.file.key",
                        fmt::format("the network needs a list {}, one entry per dimension", quote(key)));
    return found;
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
  if (findings) {
    LimitedFindings unknown;
    for (const SpecField& field : spec.fields)
      if (const auto& key = field.key; key != "topology" && key != "npus_count" && key != "bandwidth" &&
                                       key != "latency" && key != "slow_links" && key != "routing" &&
                                       key != "channels" && key != "seed")
        unknown.add({"net.file.unknown_key", Severity::warning, -1, -1,
                     fmt::format("{}: the key {} has no effect", field.value.place().text(), quote(key))});
    std::move(unknown).append_to(*findings);
  }

  Fabric fabric;
  for (size_t i = 0; i < dimensions; ++i) {
    Dimension d;
    CHAKRA_ASSIGN(const std::string name, topologies->items[i].string());
    const auto row =
        std::find_if(kTopologies.begin(), kTopologies.end(), [&](const auto& r) { return r.name == name; });
    if (row == kTopologies.end()) {
      std::string known;
      for (const TopologyRow& r : kTopologies) known += fmt::format("{}{}", known.empty() ? "" : ", ", r.name);
      return topologies->items[i].error("net.file.value", fmt::format("no topology {}; known: {}", quote(name), known));
    }
    d.kind = row->kind;
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
  return fabric;
}

// ---- any graph ---------------------------------------------------------------------------------------

/// 'ranks' or 'switches': how many, or a list of names. Appends to names; "" where a device has none.
Result<int64_t> read_devices(const Spec& spec, int64_t most, std::vector<std::string>& names) {
  const auto too_many = [&](int64_t count) {
    return spec.error("net.graph.unreachable",
                      fmt::format("{} devices here, too many for the links that there are to join them", count));
  };
  if (spec.kind != Spec::Kind::list) {
    CHAKRA_ASSIGN(const int64_t count, spec.integer());
    if (count < 0) return spec.error("net.graph.device", fmt::format("{} devices", count));
    if (count > most) return too_many(count);
    names.resize(names.size() + static_cast<size_t>(count));
    return count;
  }
  const auto count = static_cast<int64_t>(spec.items.size());
  if (count > most) return too_many(count);
  for (const Spec& item : spec.items) {
    CHAKRA_ASSIGN(std::string name, item.string());
    int64_t number = 0;
    if (name.empty() || parse_integer(name, number))
      return item.error("net.graph.device", fmt::format("{} cannot be a device's name", quote(name)));
    names.push_back(std::move(name));
  }
  return count;
}

Result<Fabric> parse_graph(const Spec& spec) {
  if (const SpecField* field =
          unknown_key(spec, {"ranks", "switches", "links", "routing", "channels", "seed", "metric", "forwarding"}))
    return field->value.error("net.file.key", fmt::format("a network given as a graph has no {}", quote(field->key)));
  const Spec* ranks = spec.find("ranks");
  const Spec* list = spec.find("links");
  if (!ranks) return spec.error("net.file.key", "a network given as a graph needs 'ranks'");
  if (list->kind != Spec::Kind::list) return list->error("net.file.key", "'links' is a list of links");
  const auto most = 2 * static_cast<int64_t>(list->items.size()) + 1;

  auto graph = std::make_shared<Graph>();
  CHAKRA_ASSIGN(graph->ranks, read_devices(*ranks, most, graph->names));
  if (graph->ranks < 1) return ranks->error("net.graph.device", "no ranks");
  if (const Spec* switches = spec.find("switches")) CHAKRA_TRY(read_devices(*switches, most, graph->names));
  const auto devices = static_cast<int64_t>(graph->names.size());
  TextMap<int64_t> numbers;
  for (int64_t d = 0; d < devices; ++d)
    if (const std::string& name = graph->names[static_cast<size_t>(d)]; !name.empty())
      if (!numbers.emplace(name, d).second)
        return spec.error("net.graph.device", fmt::format("two devices have the name {}", quote(name)));

  const auto device = [&](const Spec& end) -> Result<uint32_t> {
    CHAKRA_ASSIGN(const std::string text, end.string());
    int64_t number = -1;
    if (const auto found = numbers.find(text); found != numbers.end()) number = found->second;
    else if (!parse_decimal(text, number) || number < 0 || number >= devices)
      return end.error("net.graph.device", fmt::format("there is no device {}", quote(text)));
    return static_cast<uint32_t>(number);
  };
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> joined;
  for (const Spec& item : list->items) {
    CHAKRA_ASSIGN(const LinkEntry entry, read_link(item));
    if (entry.gib_per_s < 0 || entry.latency_ns < 0)
      return item.error("net.file.key", "a link needs 'bandwidth' and 'latency'");
    CHAKRA_ASSIGN(uint32_t from, device(*entry.from));
    CHAKRA_ASSIGN(uint32_t to, device(*entry.to));
    if (from == to) return item.error("net.graph.link", "a link from a device to itself");
    for (int way = 0; way < (entry.both ? 2 : 1); ++way, std::swap(from, to)) {
      if (!joined.emplace(from, to).second)
        return item.error("net.graph.link", fmt::format("a second link from {} to {}", quote(entry.from->scalar),
                                                        quote(entry.to->scalar)));
      graph->links.push_back({from, to, bytes_per_s(entry.gib_per_s), latency_ps(entry.latency_ns)});
    }
  }
  for (int64_t d = 0; d < devices; ++d)
    if (std::string& name = graph->names[static_cast<size_t>(d)]; name.empty())
      name = d < graph->ranks ? fmt::format("{}", d) : fmt::format("switch {}", d - graph->ranks);
  if (const Spec* metric = spec.find("metric")) {
    CHAKRA_ASSIGN(const std::string text, metric->string());
    if (text != "hops" && text != "latency")
      return metric->error("net.file.value", fmt::format("no metric {}; known: hops, latency", quote(text)));
    graph->metric = text == "hops" ? Metric::hops : Metric::latency;
  }
  if (const Spec* forwarding = spec.find("forwarding")) {
    CHAKRA_ASSIGN(graph->forwarding, forwarding->boolean());
  }
  graph->finish();
  if (const auto [from, to] = graph->by_link->unreachable(); from >= 0)
    return list->error("net.graph.unreachable",
                       fmt::format("no route from rank {} to rank {}{}", quote(graph->names[static_cast<size_t>(from)]),
                                   quote(graph->names[static_cast<size_t>(to)]),
                                   graph->forwarding ? "" : " without forwarding by other ranks"));
  const int64_t passing = graph->by_link->joined_by_switches() ? devices - graph->ranks : devices;
  if (graph->ranks > kMostWays / std::max<int64_t>(passing, 1))
    return ranks->error("net.graph.large",
                        fmt::format("{} ranks and {} devices that pass messages on; their product may be {} at most",
                                    graph->ranks, passing, kMostWays));
  Fabric fabric;
  fabric.graph = std::move(graph);
  return fabric;
}

}  // namespace

Result<Fabric> parse_fabric(const Spec& spec, Findings* findings) {
  const bool is_graph = spec.find("links") && !spec.find("topology");
  CHAKRA_ASSIGN(Fabric fabric, is_graph ? parse_graph(spec) : parse_dimensions(spec, findings));
  CHAKRA_TRY(read_routing(spec, fabric.routing, findings));
  return fabric;
}

Result<Fabric> load_fabric(const std::string& path, Findings* findings) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  return parse_fabric(spec, findings);
}

}  // namespace chakra::net
