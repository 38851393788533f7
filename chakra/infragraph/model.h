// The devices and instances of a file, with the place of each component among all nodes. A device's components
// follow one another: component i of `first`, `first + unit`, ... So an endpoint is arithmetic, and no name is
// searched.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/text_map.h"
#include "chakra/infragraph/infragraph.h"

namespace chakra::infragraph {

inline constexpr uint32_t kNone = UINT32_MAX;

struct PlacedComponent {
  std::string_view name;
  bool is_xpu = false;
  int64_t count = 0;
  uint32_t device = kNone;       ///< of a nested device
  uint64_t first = 0, unit = 1;  ///< nodes
};

/// A link of a device or of the infrastructure. Values that the file does not give are 0 and below 0.
struct PlacedLink {
  std::string_view name;
  const Spec* spec;
  double bytes_per_s = 0, gigatransfers = 0, latency_ns = -1;
};

struct PlacedEdge {
  uint32_t a = 0, b = 0, link = 0;
};

struct PlacedDevice {
  std::string_view name;
  const Spec* spec;
  std::vector<PlacedComponent> components;
  uint64_t size = 0;  ///< nodes
  enum class State : uint8_t { open, entered, placed } state = State::open;
  TextMap<uint32_t> links;        ///< into Model::links
  std::vector<PlacedEdge> edges;  ///< between nodes of the device
};

struct PlacedInstance {
  std::string_view name;
  uint32_t device = 0;
  int64_t count = 0;
  uint64_t first = 0;
};

struct Model {
  std::vector<PlacedDevice> devices;
  std::vector<PlacedInstance> instances;
  std::vector<PlacedLink> links;
  TextMap<uint32_t> links_between;  ///< of the infrastructure
  TextMap<uint32_t> device_numbers, instance_numbers;
  uint64_t size = 0;  ///< nodes
  int64_t steps = 0;  ///< of the expansion so far

  /// Count steps of the expansion. Errors: infragraph.large.
  Result<void> charge(const Spec& place, uint64_t count);
};

/// Read devices, links and instances, and give each component its place. Errors: those of read().
Result<Model> place(const Spec& infrastructure, Findings* findings);

/// Return the value of a required key, of this kind. Errors: infragraph.key.
Result<const Spec*> need(const Spec& in, std::string_view key, Spec::Kind kind = Spec::Kind::scalar);
/// Return the items of a list that may be absent. Errors: infragraph.key.
Result<std::span<const Spec>> items_of(const Spec& in, std::string_view key);

// ---- edges (expand.cpp) --------------------------------------------------------------------------------------

/// The values of an edge where an annotation changes them.
struct Change {
  double bytes_per_s = 0, latency_ns = -1;
};

/// The nodes in the order of the package, and the edges.
struct Expansion {
  Model model;
  std::vector<std::string> names = {};
  std::vector<bool> is_xpu = {};
  std::vector<PlacedEdge> edges = {};
  absl::flat_hash_map<uint64_t, uint32_t> by_ends = {};
  absl::flat_hash_map<uint32_t, Change> changes = {};  ///< by edge
  absl::flat_hash_map<int64_t, uint32_t> ranks = {};   ///< nodes that annotations name

  static uint64_t key_of(uint32_t a, uint32_t b) { return uint64_t{std::min(a, b)} << 32 | std::max(a, b); }
  /// Return the values of an edge; those that are unknown are 0 and below 0.
  Rate rate_of(size_t edge) const;
};

/// Expand the edges of devices, instances and the infrastructure. Errors: those of read().
Result<Expansion> expand(Model model, const Spec& infrastructure);
/// Apply ranks, bandwidths and latencies; other attributes have no meaning here. Errors: those of read().
Result<void> annotate(Expansion& expansion, const Spec& annotations);

// ---- endpoints (endpoints.cpp) -------------------------------------------------------------------------------

/// Return the places that a Python index or slice selects of `count`. Errors: infragraph.endpoint.
Result<std::vector<int64_t>> slice(const Spec& place, std::string_view text, int64_t count);
/// Expand the two ends of an edge of a device, or of the infrastructure (kNone), in order. Errors: those of read().
Result<std::vector<uint32_t>> expand_end(Model& model, uint32_t device, const Spec& end);
/// Return the nodes below a name in the package's notation: "dgx.0.xpu.3", "dgx.0", "dgx[0:2]xpu[0]".
Result<std::vector<uint32_t>> expand_name(Model& model, const Spec& name);

// ---- values (values.cpp) -------------------------------------------------------------------------------------

/// Read 'physical' of a link. Errors: infragraph.link, base.spec.type.
Result<void> read_physical(const Spec& link, PlacedLink& out);
/// Read the text of an annotation: "1400 Gbps", "64 GBps", "unlimited"; "500 ns". Errors: infragraph.link.
Result<double> read_bandwidth_text(const Spec& value);
Result<double> read_latency_text(const Spec& value);

}  // namespace chakra::infragraph
