// Network files: switches that reduce.
#include <fmt/core.h>

#include "chakra/net/file_parts.h"

namespace chakra::net {

Result<Reduction> read_reduction(const Spec& spec) {
  if (spec.kind == Spec::Kind::scalar && spec.scalar == "none") return Reduction{};
  if (spec.kind != Spec::Kind::map)
    return spec.error("net.file.key", "a reduction must have the form {bandwidth: 400, latency: 500}, or be 'none'");
  if (const SpecField* field = unknown_key(spec, {"bandwidth", "latency", "switch"}))
    return field->value.error("net.file.key", fmt::format("unknown key {} of a reduction", quote(field->key)));
  const Spec* bandwidth = spec.find("bandwidth");
  if (!bandwidth) return spec.error("net.file.key", "a reduction needs 'bandwidth'");
  CHAKRA_ASSIGN(const double gib_per_s, read_bandwidth(*bandwidth));
  Reduction reduction{bytes_per_s(gib_per_s), 0};
  if (const Spec* latency = spec.find("latency")) {
    CHAKRA_ASSIGN(const double ns, read_latency(*latency));
    reduction.latency_ps = latency_ps(ns);
  }
  return reduction;
}

Result<std::vector<Reduction>> read_reductions(const Spec& spec, size_t count, std::string_view entries) {
  const bool list = spec.kind == Spec::Kind::list;
  if (list && spec.items.size() != count)
    return spec.error("net.file.value", fmt::format("{} entries in 'reduction'; expected one for all, or {}: {}",
                                                    spec.items.size(), count, entries));
  std::vector<Reduction> reductions;
  for (const Spec& item : list ? std::span<const Spec>(spec.items) : std::span<const Spec>(&spec, 1)) {
    if (const Spec* named = item.find("switch"))
      return named->error("net.file.key", "entries with 'switch' require a network given as a graph, in a list");
    CHAKRA_ASSIGN(const Reduction reduction, read_reduction(item));
    reductions.push_back(reduction);
  }
  reductions.resize(count, reductions[0]);
  return reductions;
}

}  // namespace chakra::net
