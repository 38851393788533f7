// Network files: which form they have, and what holds in each form (docs/reference/formats/network.md).
#include <fmt/core.h>

#include "chakra/infragraph/infragraph.h"
#include "chakra/net/file_parts.h"

namespace chakra::net {
namespace {

constexpr double kMostBurst = 1099511627776;  // bytes

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
                                                     is_seed ? "at least 0" : "1 to 256 channels"));
    if (!options.hashes() && findings)
      findings->push_back({"net.file.unknown_key", Severity::warning, -1, -1,
                           fmt::format("{}: the key {} has no effect without 'routing: ecmp' or 'valiant'",
                                       value->place().text(), quote(key))});
    if (is_seed) options.seed = static_cast<uint64_t>(number);
    else options.channels = static_cast<uint32_t>(number);
  }
  return {};
}

/// 'burst'.
Result<void> read_burst(const Spec& spec, double& bytes) {
  const Spec* burst = spec.find("burst");
  if (!burst) return {};
  CHAKRA_ASSIGN(bytes, burst->number());
  if (bytes >= 0 && bytes <= kMostBurst) return {};
  return burst->error("net.file.value", fmt::format("a burst of {} bytes; expected 0 to 2^40", bytes));
}

}  // namespace

Result<Fabric> parse_fabric(const Spec& spec, Findings* findings) {
  const Spec* topology = spec.find("topology");
  const ShapeRow* shape = topology && topology->kind == Spec::Kind::scalar ? find_shape(topology->scalar) : nullptr;
  const auto fabric_of = [&]() -> Result<Fabric> {
    if (shape) return parse_shape(spec, *shape);
    if (!topology && infragraph::is_infragraph(spec)) return parse_infragraph(spec, findings);
    if (spec.find("links") && !topology) return parse_graph(spec);
    return parse_dimensions(spec, findings);
  };
  CHAKRA_ASSIGN(Fabric fabric, fabric_of());
  CHAKRA_TRY(read_routing(spec, fabric.routing, findings));
  if (auto checked = check_routing(fabric); !checked) {
    const Spec* routing = spec.find("routing");
    return (routing ? *routing : spec).error(checked.error().tag, checked.error().text);
  }
  CHAKRA_TRY(read_burst(spec, fabric.burst_bytes));
  return fabric;
}

Result<Fabric> load_fabric(const std::string& path, Findings* findings) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  return parse_fabric(spec, findings);
}

}  // namespace chakra::net
