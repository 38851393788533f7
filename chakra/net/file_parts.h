// Parts shared by all forms of network files: bandwidths, latencies, links, and the completion of a graph.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "chakra/net/graph.h"
#include "chakra/net/net.h"

namespace chakra::net {

inline constexpr int64_t kMostRanks = int64_t{1} << 24;

// One function per form of file, each in a separate source file.
Result<Fabric> parse_dimensions(const Spec& spec, Findings* findings);
Result<Fabric> parse_shape(const Spec& spec, const ShapeRow& row);
Result<Fabric> parse_graph(const Spec& spec);
Result<Fabric> parse_infragraph(const Spec& spec, Findings* findings);

/// Read GB/s of 2^30 bytes, or ns. Errors: net.file.value.
Result<double> read_bandwidth(const Spec& spec);
Result<double> read_latency(const Spec& spec);
double bytes_per_s(double gib_per_s);
Picoseconds latency_ps(double ns);

/// Return the first key that is not in `known`, or null.
const SpecField* unknown_key(const Spec& spec, const std::vector<std::string_view>& known);

/// A link as files name it. Bandwidth and latency: -1 if not given.
struct LinkEntry {
  const Spec* from;
  const Spec* to;
  double gib_per_s = -1;
  double latency_ns = -1;
  bool both = true;
};
/// Errors: net.file.key, net.file.value.
Result<LinkEntry> read_link(const Spec& spec);

/// Read a switch's {bandwidth, latency}, or 'none'. Errors: net.file.key, net.file.value.
Result<Reduction> read_reduction(const Spec& spec);
/// Read 'reduction': one for all `count`, or a list with an entry for each;
/// `entries` names the entries in errors. Errors: net.file.key, net.file.value.
Result<std::vector<Reduction>> read_reductions(const Spec& spec, size_t count, std::string_view entries);

/// Read 'collectives' of a fabric whose dimensions are already known. Errors: net.file.key, net.file.value.
Result<void> read_fits(const Spec& list, Fabric& fabric);

/// Read 'metric' and 'forwarding'. Errors: net.file.value.
Result<void> read_graph_options(const Spec& spec, Graph& graph);
/// Check that ranks times forwarding devices are few enough to keep routes for. Errors: net.graph.large.
Result<void> check_ways(const Spec& place, double ranks, double passing);
/// Return the graph, which has all devices and links, as a fabric. Errors, at
/// these places: net.graph.large (`ranks`), net.graph.unreachable (`links`).
Result<Fabric> finish_graph(std::shared_ptr<Graph> graph, const Spec& ranks, const Spec& links);

}  // namespace chakra::net
