// Network files that name a whole network and give its numbers.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/net/file_parts.h"
#include "chakra/net/shapes.h"

namespace chakra::net {
namespace {

constexpr size_t kMostNumbers = 16;  // of a list
constexpr double kMostCables = 1 << 20;

/// `spec`, or its items where it is a list.
std::span<const Spec> items(const Spec& spec) {
  return spec.kind == Spec::Kind::list ? std::span<const Spec>(spec.items) : std::span<const Spec>(&spec, 1);
}

Result<const Spec*> need(const Spec& network, const ShapeRow& row, std::string_view key) {
  const Spec* found = network.find(key);
  if (!found) return network.error("net.file.key", fmt::format("a {} needs {}", row.name, quote(key)));
  return found;
}

Result<std::vector<int64_t>> read_numbers(const Spec& spec, const ShapeKey& key) {
  if (key.list != (spec.kind == Spec::Kind::list) || items(spec).empty() || items(spec).size() > kMostNumbers)
    return spec.error("net.file.value",
                      key.list ? fmt::format("{} must be a list of 1 to {} numbers", quote(key.name), kMostNumbers)
                               : fmt::format("{} is one number", quote(key.name)));
  std::vector<int64_t> numbers;
  for (const Spec& item : items(spec)) {
    CHAKRA_ASSIGN(const int64_t number, item.integer());
    if (number < key.least || number > kMostRanks)
      return item.error("net.file.value",
                        fmt::format("{} is {}; expected {} to {}", quote(key.name), number, key.least, kMostRanks));
    numbers.push_back(number);
  }
  return numbers;
}

/// `bandwidth` or `latency`: one for all kinds of cables, or one each.
Result<std::vector<double>> read_by_kind(const Spec& spec, const char* key, const ShapeRow& row, size_t kinds,
                                         Result<double> (*read)(const Spec&)) {
  if (spec.kind == Spec::Kind::list && spec.items.size() != kinds)
    return spec.error("net.file.value", fmt::format("{} entries in {}; expected one, or {}: {}", spec.items.size(),
                                                    quote(key), kinds, row.cable_kinds));
  std::vector<double> values;
  for (const Spec& item : items(spec)) {
    CHAKRA_ASSIGN(const double value, read(item));
    values.push_back(value);
  }
  values.resize(kinds, values[0]);
  return values;
}

Result<ShapeSize> check_size(const Spec& spec, const ShapeRow& row, ShapeNumbers numbers) {
  ShapeSize size = row.size(numbers);
  if (!size.wrong.empty()) return spec.error("net.file.value", std::move(size.wrong));
  if (size.cables > kMostCables)
    return spec.error("net.graph.large", fmt::format("{:.4g} cables; at most {:.0f}", size.cables, kMostCables));
  return size;
}

/// 'reduction', of the switches that were built.
Result<std::vector<Reduction>> read_by_switch(const Spec& spec, const ShapeRow& row, const ShapeSize& size,
                                              const std::vector<size_t>& switch_kinds) {
  CHAKRA_ASSIGN(const std::vector<Reduction> of_kind, read_reductions(spec, size.switch_kinds, row.switch_kinds));
  std::vector<Reduction> reductions;
  if (std::any_of(of_kind.begin(), of_kind.end(), [](const Reduction& r) { return r.bytes_per_s > 0; }))
    for (const size_t kind : switch_kinds) reductions.push_back(of_kind[kind]);
  return reductions;
}

}  // namespace

Result<Fabric> parse_shape(const Spec& spec, const ShapeRow& row) {
  std::vector<std::string_view> known{"topology", "bandwidth", "latency", "routing",   "channels",
                                      "seed",     "burst",     "metric",  "forwarding"};
  if (!row.switch_kinds.empty()) known.push_back("reduction");
  for (const ShapeKey& key : row.keys) known.push_back(key.name);
  if (const SpecField* field = unknown_key(spec, known))
    return field->value.error("net.file.key", fmt::format("a {} has no {}", row.name, quote(field->key)));
  std::vector<std::vector<int64_t>> numbers;
  for (const ShapeKey& key : row.keys) {
    CHAKRA_ASSIGN(const Spec* value, need(spec, row, key.name));
    CHAKRA_ASSIGN(std::vector<int64_t> read, read_numbers(*value, key));
    numbers.push_back(std::move(read));
  }
  CHAKRA_ASSIGN(const ShapeSize size, check_size(*spec.find("topology"), row, numbers));
  CHAKRA_ASSIGN(const Spec* bandwidth, need(spec, row, "bandwidth"));
  CHAKRA_ASSIGN(const Spec* latency, need(spec, row, "latency"));
  CHAKRA_ASSIGN(const std::vector<double> rates,
                read_by_kind(*bandwidth, "bandwidth", row, size.cable_kinds, read_bandwidth));
  CHAKRA_ASSIGN(const std::vector<double> latencies,
                read_by_kind(*latency, "latency", row, size.cable_kinds, read_latency));

  auto graph = std::make_shared<Graph>();
  graph->title = row.name;
  graph->ranks = static_cast<int64_t>(size.ranks);
  for (int64_t rank = 0; rank < graph->ranks; ++rank) graph->names.push_back(fmt::format("{}", rank));
  ShapeBuilder builder{*graph, {}};
  for (size_t kind = 0; kind < size.cable_kinds; ++kind)
    builder.kinds.push_back({bytes_per_s(rates[kind]), latency_ps(latencies[kind])});
  row.build(numbers, builder);
  CHAKRA_ASSERT(static_cast<double>(graph->names.size()) == size.ranks + size.switches);
  CHAKRA_ASSERT(static_cast<double>(graph->links.size()) == 2 * size.cables);
  CHAKRA_TRY(read_graph_options(spec, *graph));
  std::vector<Reduction> reductions;
  if (const Spec* reduction = spec.find("reduction")) {
    CHAKRA_ASSIGN(reductions, read_by_switch(*reduction, row, size, builder.switch_kinds));
  }
  CHAKRA_ASSIGN(Fabric fabric, finish_graph(std::move(graph), spec, spec));
  fabric.reductions = std::move(reductions);
  return fabric;
}

}  // namespace chakra::net
