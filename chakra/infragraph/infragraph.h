// InfraGraph, a model of infrastructure (Keysight and MLCommons, version 3.1): devices of components, instances of
// devices, and the links between them. read() expands a file into nodes and edges, to_json() writes a file, and
// kBlueprints builds the public devices and fabrics (docs/reference/formats/infragraph.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::infragraph {

// ---- reading ---------------------------------------------------------------------------------------

/// The most nodes, edges and steps of expansion that a file may ask for.
inline constexpr int64_t kMostNodes = 1 << 20, kMostEdges = 1 << 20, kMostSteps = 1 << 24;
/// The rate of a link that is annotated as unlimited.
inline constexpr double kUnlimited = 1e9 * 1073741824.0;

struct Rate {
  double bytes_per_s = 0;  ///< each way
  double latency_ns = 0;

  bool operator==(const Rate&) const = default;
};

/// An edge joins two nodes, both ways.
struct Edge {
  uint32_t a = 0, b = 0;
  Rate rate;
};

/// The expanded infrastructure. The first `ranks` nodes are the XPUs, by rank.
struct Graph {
  int64_t ranks = 0;
  std::vector<std::string> nodes;  ///< "instance.index.component.index", as the package names them
  std::vector<Edge> edges;         ///< no two join the same nodes
};

/// Return whether the file is an Infrastructure, or an Infrastructure with its annotations.
bool is_infragraph(const Spec& spec);
/// Expand a file. Findings: net.file.unknown_key, infragraph.latency. Errors: infragraph.key, .component, .endpoint,
/// .link, .edge, .rank, .bandwidth, .large, and base.spec.type. Cost: O(nodes + edges), both limited.
Result<Graph> read(const Spec& spec, Findings* findings);

// ---- writing ---------------------------------------------------------------------------------------

struct Component {
  std::string name;
  int64_t count = 1;
  std::string kind;  ///< cpu, xpu, nic, memory, port, switch, device; any other text is the type of a custom component
};

/// A value of 0 (bandwidth) or below 0 (latency) is not written.
struct Link {
  std::string name;
  double bytes_per_s = 0;
  double latency_ns = -1;
};

/// The components of one device (`owner` empty), of a nested device, or of instances.
struct End {
  std::string owner;  ///< "host[0]"
  std::string component;
};

enum class Scheme : uint8_t { one2one, many2many };

struct Connection {
  End a, b;
  std::string link;
  Scheme scheme = Scheme::one2one;
};

struct Device {
  std::string name;
  std::vector<Component> components;
  std::vector<Link> links;
  std::vector<Connection> connections;
};

struct Instance {
  std::string name, device;
  int64_t count = 1;
};

struct Infrastructure {
  std::string name;
  std::vector<Device> devices;
  std::vector<Instance> instances;
  std::vector<Link> links;
  std::vector<Connection> connections;
};

/// Return the file in JSON, which is YAML, too. Bandwidths and latencies read back as the same numbers.
std::string to_json(const Infrastructure& infrastructure);

// ---- blueprints ------------------------------------------------------------------------------------

/// A parameter of a blueprint: a whole number from `least` to `most`.
struct Parameter {
  std::string_view name;
  std::string_view meaning;
  int64_t value = 1;  ///< the default
  int64_t least = 1, most = 1;
};

struct Blueprint {
  std::string_view name;
  std::string_view description;
  std::span<const Parameter> parameters;
  /// Build the infrastructure from the values in the order of the parameters. Values
  /// that do not fit each other fill `wrong`, which then gives the reason.
  Infrastructure (*build)(std::span<const int64_t> values, std::string& wrong);
};
extern const std::span<const Blueprint> kBlueprints;  ///< by name, ascending

/// Build a blueprint. Settings: "PARAMETER=NUMBER"; "bandwidth.LINK=GB/s" and "latency.LINK=NS", of 10^9 bytes, for
/// all links of that name. Errors: infragraph.blueprint.
Result<Infrastructure> build(std::string_view name, std::span<const std::string> settings);

}  // namespace chakra::infragraph
