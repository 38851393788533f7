// InfraGraph files: XPUs are ranks, and all other components pass messages on, as switches do.
#include "chakra/infragraph/infragraph.h"

#include "chakra/net/file_parts.h"

namespace chakra::net {

Result<Fabric> parse_infragraph(const Spec& spec, Findings* findings) {
  CHAKRA_ASSIGN(infragraph::Graph read, infragraph::read(spec, findings));
  const auto ranks = static_cast<double>(read.ranks), devices = static_cast<double>(read.nodes.size());
  CHAKRA_TRY(check_ways(spec, ranks, devices > ranks ? devices - ranks : ranks));
  auto graph = std::make_shared<Graph>();
  graph->ranks = read.ranks;
  graph->names = std::move(read.nodes);
  graph->links.reserve(2 * read.edges.size());
  for (const infragraph::Edge& edge : read.edges) {
    const Picoseconds latency = latency_ps(edge.rate.latency_ns);
    graph->links.push_back({edge.a, edge.b, edge.rate.bytes_per_s, latency});
    graph->links.push_back({edge.b, edge.a, edge.rate.bytes_per_s, latency});
  }
  return finish_graph(std::move(graph), spec, spec);
}

}  // namespace chakra::net
