#include "chakra/net/file_parts.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::net {
namespace {}  // namespace

double bytes_per_s(double gib_per_s) { return Dimension{.gib_per_s = gib_per_s}.bytes_per_s(); }
Picoseconds latency_ps(double ns) { return Dimension{.latency_ns = ns}.latency_ps(); }

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

const SpecField* unknown_key(const Spec& spec, const std::vector<std::string_view>& known) {
  for (const SpecField& field : spec.fields)
    if (std::find(known.begin(), known.end(), field.key) == known.end()) return &field;
  return nullptr;
}

Result<LinkEntry> read_link(const Spec& spec) {
  if (spec.kind != Spec::Kind::map)
    return spec.error("net.file.key", "a link must have the form {from: 0, to: 1, bandwidth: 50, latency: 500}");
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

Result<void> read_graph_options(const Spec& spec, Graph& graph) {
  if (const Spec* metric = spec.find("metric")) {
    CHAKRA_ASSIGN(const std::string text, metric->string());
    if (text != "hops" && text != "latency" && text != "groups")
      return metric->error("net.file.value",
                           fmt::format("unknown metric {}; known: hops, latency, groups", quote(text)));
    if (text == "groups" && graph.groups.empty())
      return metric->error("net.file.value", "'metric: groups' needs a network of groups, as a Dragonfly is");
    graph.metric = text == "hops" ? Metric::hops : text == "latency" ? Metric::latency : Metric::groups;
  }
  if (const Spec* forwarding = spec.find("forwarding")) {
    CHAKRA_ASSIGN(graph.forwarding, forwarding->boolean());
  }
  return {};
}

Result<void> check_ways(const Spec& place, double ranks, double passing) {
  if (ranks * passing <= static_cast<double>(kMostWays)) return {};
  return place.error("net.graph.large",
                     fmt::format("{:.0f} ranks and {:.0f} forwarding devices; ranks times devices must be at most {}",
                                 ranks, passing, kMostWays));
}

Result<Fabric> finish_graph(std::shared_ptr<Graph> graph, const Spec& ranks, const Spec& links) {
  graph->finish();
  if (const auto [from, to] = graph->by_link->unreachable(); from >= 0)
    return links.error("net.graph.unreachable",
                       fmt::format("no route from rank {} to rank {}{}", quote(graph->names[static_cast<size_t>(from)]),
                                   quote(graph->names[static_cast<size_t>(to)]),
                                   graph->forwarding ? "" : " without forwarding by other ranks"));
  if (graph->turns.empty()) {
    const auto all = static_cast<double>(graph->ranks);
    CHAKRA_TRY(check_ways(ranks, all, graph->ways() / all));
  }
  Fabric fabric;
  fabric.graph = std::move(graph);
  return fabric;
}

}  // namespace chakra::net
