// Network files: which form they have, and which routes messages take (docs/reference/formats/network.md).
#include <fmt/core.h>

#include "chakra/net/file_parts.h"

namespace chakra::net {
namespace {

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

}  // namespace

Result<Fabric> parse_fabric(const Spec& spec, Findings* findings) {
  const Spec* topology = spec.find("topology");
  const ShapeRow* shape = topology && topology->kind == Spec::Kind::scalar ? find_shape(topology->scalar) : nullptr;
  const auto fabric_of = [&]() -> Result<Fabric> {
    if (shape) return parse_shape(spec, *shape);
    if (spec.find("links") && !topology) return parse_graph(spec);
    return parse_dimensions(spec, findings);
  };
  CHAKRA_ASSIGN(Fabric fabric, fabric_of());
  CHAKRA_TRY(read_routing(spec, fabric.routing, findings));
  return fabric;
}

Result<Fabric> load_fabric(const std::string& path, Findings* findings) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  return parse_fabric(spec, findings);
}

}  // namespace chakra::net
