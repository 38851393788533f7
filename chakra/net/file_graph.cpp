// Network files that give devices and links.
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include "chakra/base/text_map.h"
#include "chakra/net/axes.h"
#include "chakra/net/file_parts.h"

namespace chakra::net {
namespace {

/// 'ranks' or 'switches': how many, or a list of names. Appends to names; "" where a device has none.
Result<int64_t> read_devices(const Spec& spec, int64_t most, std::vector<std::string>& names) {
  const auto too_many = [&](int64_t count) {
    return spec.error("net.graph.unreachable", fmt::format("{} devices are too many for the number of links", count));
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
      return item.error("net.graph.device", fmt::format("{} is not a valid device name", quote(name)));
    names.push_back(std::move(name));
  }
  return count;
}

Result<TextMap<int64_t>> read_names(const Spec& spec, const std::vector<std::string>& names) {
  TextMap<int64_t> numbers;
  for (size_t d = 0; d < names.size(); ++d)
    if (!names[d].empty() && !numbers.emplace(names[d], static_cast<int64_t>(d)).second)
      return spec.error("net.graph.device", fmt::format("two devices have the name {}", quote(names[d])));
  return numbers;
}

/// The device at an end of a link, by name or number.
Result<uint32_t> read_end(const Spec& end, const TextMap<int64_t>& numbers, size_t devices) {
  CHAKRA_ASSIGN(const std::string text, end.string());
  int64_t number = -1;
  if (const auto found = numbers.find(text); found != numbers.end()) number = found->second;
  else if (!parse_decimal(text, number) || number < 0 || number >= static_cast<int64_t>(devices))
    return end.error("net.graph.device", fmt::format("unknown device {}", quote(text)));
  return static_cast<uint32_t>(number);
}

Result<void> read_links(const Spec& list, const TextMap<int64_t>& numbers, Graph& graph) {
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> joined;
  for (const Spec& item : list.items) {
    CHAKRA_ASSIGN(const LinkEntry entry, read_link(item));
    if (entry.gib_per_s < 0 || entry.latency_ns < 0)
      return item.error("net.file.key", "a link needs 'bandwidth' and 'latency'");
    CHAKRA_ASSIGN(uint32_t from, read_end(*entry.from, numbers, graph.names.size()));
    CHAKRA_ASSIGN(uint32_t to, read_end(*entry.to, numbers, graph.names.size()));
    if (from == to) return item.error("net.graph.link", "a link from a device to itself");
    for (int way = 0; way < (entry.both ? 2 : 1); ++way, std::swap(from, to)) {
      if (!joined.emplace(from, to).second)
        return item.error("net.graph.link", fmt::format("duplicate link from {} to {}", quote(entry.from->scalar),
                                                        quote(entry.to->scalar)));
      graph.links.push_back({from, to, bytes_per_s(entry.gib_per_s), latency_ps(entry.latency_ns)});
    }
  }
  return {};
}

/// Ranks that follow each other are a node.
Result<void> read_nodes(const Spec& spec, Graph& graph) {
  CHAKRA_ASSIGN(const int64_t per_node, spec.integer());
  if (per_node < 1 || per_node > graph.ranks)
    return spec.error("net.file.value", fmt::format("'ranks_per_node' is {}; expected 1 to {}", per_node, graph.ranks));
  add_axis(graph.axes, per_node, RowForm::star);
  add_axis(graph.axes, (graph.ranks + per_node - 1) / per_node, RowForm::star);
  return {};
}

/// 'reduction': one for all switches, or a list with the switches' names.
Result<std::vector<Reduction>> read_by_name(const Spec& spec, const TextMap<int64_t>& numbers, const Graph& graph) {
  const auto switches = graph.names.size() - static_cast<size_t>(graph.ranks);
  if (switches == 0) return spec.error("net.file.value", "'reduction', but no switches");
  if (spec.kind != Spec::Kind::list) return read_reductions(spec, switches, "");
  std::vector<Reduction> reductions(switches);
  for (const Spec& item : spec.items) {
    const Spec* end = item.find("switch");
    if (!end) return item.error("net.file.key", "an entry of 'reduction' needs 'switch', a switch's name");
    CHAKRA_ASSIGN(const uint32_t device, read_end(*end, numbers, graph.names.size()));
    if (device < graph.ranks)
      return end->error("net.graph.device", fmt::format("{} is a rank, not a switch", end->scalar));
    Reduction& reduction = reductions[device - static_cast<size_t>(graph.ranks)];
    if (reduction.bytes_per_s > 0)
      return item.error("net.file.value", fmt::format("a second reduction of {}", quote(end->scalar)));
    CHAKRA_ASSIGN(reduction, read_reduction(item));
  }
  if (spec.items.empty()) reductions.clear();
  return reductions;
}

}  // namespace

Result<Fabric> parse_graph(const Spec& spec) {
  if (const SpecField* field = unknown_key(spec, {"ranks", "switches", "links", "reduction", "ranks_per_node",
                                                  "routing", "channels", "seed", "burst", "metric", "forwarding"}))
    return field->value.error("net.file.key", fmt::format("a network given as a graph has no {}", quote(field->key)));
  const Spec* ranks = spec.find("ranks");
  const Spec* list = spec.find("links");
  if (!ranks) return spec.error("net.file.key", "a network given as a graph needs 'ranks'");
  if (list->kind != Spec::Kind::list) return list->error("net.file.key", "'links' must be a list of links");
  const auto most = 2 * static_cast<int64_t>(list->items.size()) + 1;

  auto graph = std::make_shared<Graph>();
  CHAKRA_ASSIGN(graph->ranks, read_devices(*ranks, most, graph->names));
  if (graph->ranks < 1) return ranks->error("net.graph.device", "no ranks");
  if (const Spec* switches = spec.find("switches")) CHAKRA_TRY(read_devices(*switches, most, graph->names));
  CHAKRA_ASSIGN(const TextMap<int64_t> numbers, read_names(spec, graph->names));
  CHAKRA_TRY(read_links(*list, numbers, *graph));
  for (int64_t d = 0; d < static_cast<int64_t>(graph->names.size()); ++d)
    if (std::string& name = graph->names[static_cast<size_t>(d)]; name.empty())
      name = d < graph->ranks ? fmt::format("{}", d) : fmt::format("switch {}", d - graph->ranks);
  if (const Spec* per_node = spec.find("ranks_per_node")) CHAKRA_TRY(read_nodes(*per_node, *graph));
  CHAKRA_TRY(read_graph_options(spec, *graph));
  std::vector<Reduction> reductions;
  if (const Spec* reduction = spec.find("reduction")) {
    CHAKRA_ASSIGN(reductions, read_by_name(*reduction, numbers, *graph));
  }
  const std::shared_ptr<Graph> kept = graph;
  CHAKRA_ASSIGN(Fabric fabric, finish_graph(std::move(graph), *ranks, *list));
  kept->forget_places(reductions);
  fabric.reductions = std::move(reductions);
  return fabric;
}

}  // namespace chakra::net
