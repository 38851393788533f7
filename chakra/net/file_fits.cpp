// Network files: 'collectives', the fitted ones.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/net/file_parts.h"

namespace chakra::net {
namespace {

constexpr size_t kMostFits = 1000, kMostProtocols = 16, kMostFittedRanks = 64, kMostCorrections = 4096;

/// A number that is not negative, or `absent` where the key is.
Result<double> read_parameter(const Spec& spec, std::string_view key, double absent) {
  const Spec* found = spec.find(key);
  if (!found) return absent;
  CHAKRA_ASSIGN(const double value, found->number());
  if (!(value >= 0) || value > 1e15) return found->error("net.file.value", fmt::format("{} of {}", quote(key), value));
  return value;
}

Result<uint64_t> read_size(const Spec& spec) {
  CHAKRA_ASSIGN(const int64_t value, spec.integer());
  if (value < 0) return spec.error("net.file.value", fmt::format("a size of {} bytes", value));
  return static_cast<uint64_t>(value);
}

Result<void> read_limits(const Spec& list, size_t ranks, ProtocolFit& protocol) {
  if (list.kind != Spec::Kind::list || list.items.size() != ranks)
    return list.error("net.file.value",
                      fmt::format("'up_to_bytes' needs an entry for each of 'ranks', {} here", ranks));
  for (const Spec& item : list.items) {
    uint64_t size = ProtocolFit::kAnySize;
    if (item.kind != Spec::Kind::scalar || item.scalar != "any") {
      CHAKRA_ASSIGN(size, read_size(item));
    }
    protocol.up_to_bytes.push_back(size);
  }
  return {};
}

Result<ProtocolFit> read_protocol(const Spec& spec, size_t ranks) {
  if (const SpecField* field = unknown_key(spec, {"protocol", "op_ns", "step_ns", "wire_bandwidth", "local_bandwidth",
                                                  "node_step_ns", "rail_bandwidth", "peer_bandwidth", "up_to_bytes"}))
    return field->value.error("net.file.key", fmt::format("a protocol has no {}", quote(field->key)));
  const Spec* name = spec.find("protocol");
  if (!name)
    return spec.error("net.file.key", "a protocol must have the form {protocol: LL, op_ns: 8000, wire_bandwidth: 20}");
  ProtocolFit protocol;
  CHAKRA_ASSIGN(protocol.name, name->string());
  CHAKRA_ASSIGN(protocol.op_ns, read_parameter(spec, "op_ns", 0));
  CHAKRA_ASSIGN(protocol.step_ns, read_parameter(spec, "step_ns", 0));
  CHAKRA_ASSIGN(protocol.wire_gib_per_s, read_parameter(spec, "wire_bandwidth", 0));
  CHAKRA_ASSIGN(protocol.local_gib_per_s, read_parameter(spec, "local_bandwidth", 0));
  CHAKRA_ASSIGN(protocol.node_step_ns, read_parameter(spec, "node_step_ns", 0));
  CHAKRA_ASSIGN(protocol.rail_gib_per_s, read_parameter(spec, "rail_bandwidth", 0));
  CHAKRA_ASSIGN(protocol.peer_gib_per_s, read_parameter(spec, "peer_bandwidth", 0));
  if (const Spec* limits = spec.find("up_to_bytes")) CHAKRA_TRY(read_limits(*limits, ranks, protocol));
  return protocol;
}

/// Ascending whole numbers, each `least` or more.
Result<std::vector<int64_t>> read_counts(const Spec& list, int64_t least, std::string_view what) {
  if (list.kind != Spec::Kind::list || list.items.empty() || list.items.size() > kMostFittedRanks)
    return list.error("net.file.key", fmt::format("{} must be a list of 1 to {} numbers", what, kMostFittedRanks));
  std::vector<int64_t> counts;
  for (const Spec& item : list.items) {
    CHAKRA_ASSIGN(const int64_t n, item.integer());
    if (n < least || n > kMostRanks || (!counts.empty() && n <= counts.back()))
      return item.error("net.file.value", fmt::format("{} in {}; expected {} or more, ascending", n, what, least));
    counts.push_back(n);
  }
  return counts;
}

/// 'ranks', and of a fit across nodes 'nodes'.
Result<void> read_members(const Spec& spec, CollectiveFit& fit) {
  const Spec *ranks = spec.find("ranks"), *nodes = spec.find("nodes");
  if (!ranks)
    return spec.error("net.file.key", "a collective needs a list 'ranks': the numbers of members that were measured");
  fit.across = nodes != nullptr;
  CHAKRA_ASSIGN(fit.ranks, read_counts(*ranks, fit.across ? 1 : 2, "'ranks'"));
  if (!nodes || (nodes->kind == Spec::Kind::scalar && nodes->scalar == "any")) return {};
  CHAKRA_ASSIGN(fit.nodes, read_counts(*nodes, 2, "'nodes'"));
  return {};
}

Result<void> read_range(const Spec& spec, CollectiveFit& fit) {
  fit.to_bytes = UINT64_MAX;
  const Spec* bytes = spec.find("bytes");
  if (!bytes) return {};
  if (bytes->kind != Spec::Kind::list || bytes->items.size() != 2)
    return bytes->error("net.file.value", "'bytes' must be a list of the smallest and the largest measured size");
  CHAKRA_ASSIGN(fit.from_bytes, read_size(bytes->items[0]));
  CHAKRA_ASSIGN(fit.to_bytes, read_size(bytes->items[1]));
  if (fit.from_bytes > fit.to_bytes)
    return bytes->error("net.file.value", fmt::format("'bytes' goes from {} to {}; the smallest size must come first",
                                                      fit.from_bytes, fit.to_bytes));
  return {};
}

/// [{ranks: 8, bytes: [1024, 2048], factors: [1.1, 0.98]}]
Result<void> read_corrections(const Spec& list, CollectiveFit& fit) {
  const auto bad = [](const Spec& at) {
    return at.error(
        "net.file.value",
        fmt::format("'corrections' is a list of {{ranks: N, bytes: [..], factors: [..]}}: N one of 'ranks', "
                    "up to {} ascending sizes, and a factor above 0 for each",
                    kMostCorrections));
  };
  if (list.kind != Spec::Kind::list) return bad(list);
  fit.corrections.resize(fit.ranks.size());
  for (const Spec& item : list.items) {
    if (const SpecField* field = unknown_key(item, {"ranks", "bytes", "factors"}))
      return field->value.error("net.file.key", fmt::format("a correction has no {}", quote(field->key)));
    const Spec *ranks = item.find("ranks"), *bytes = item.find("bytes"), *factors = item.find("factors");
    if (!ranks || !bytes || !factors || bytes->kind != Spec::Kind::list || factors->kind != Spec::Kind::list ||
        bytes->items.size() != factors->items.size() || bytes->items.size() > kMostCorrections)
      return bad(item);
    CHAKRA_ASSIGN(const int64_t n, ranks->integer());
    const auto at = std::find(fit.ranks.begin(), fit.ranks.end(), n);
    if (at == fit.ranks.end()) return bad(*ranks);
    Correction& c = fit.corrections[static_cast<size_t>(at - fit.ranks.begin())];
    if (!c.bytes.empty()) return bad(*ranks);
    for (size_t i = 0; i < bytes->items.size(); ++i) {
      CHAKRA_ASSIGN(const uint64_t size, read_size(bytes->items[i]));
      CHAKRA_ASSIGN(const double factor, factors->items[i].number());
      if ((i > 0 && size <= c.bytes.back()) || !(factor > 0) || factor > 1e6) return bad(bytes->items[i]);
      c.bytes.push_back(size);
      c.factors.push_back(factor);
    }
  }
  return {};
}

Result<CollectiveFit> read_fit(const Spec& spec, size_t dimensions) {
  if (const SpecField* field = unknown_key(spec, {"operation", "algorithm", "dimension", "ranks", "nodes", "bytes",
                                                  "error_percent", "worst_percent", "protocols", "corrections"}))
    return field->value.error("net.file.key", fmt::format("a collective has no {}", quote(field->key)));
  const Spec *operation = spec.find("operation"), *algorithm = spec.find("algorithm");
  if (!operation || !algorithm) return spec.error("net.file.key", "a collective needs 'operation' and 'algorithm'");
  CollectiveFit fit;
  CHAKRA_ASSIGN(const std::string operation_name, operation->string());
  CHAKRA_ASSIGN(const std::string algorithm_name, algorithm->string());
  fit.form = find_collective_form(operation_name, algorithm_name);
  if (!fit.form) {
    std::string known;
    for (const CollectiveForm& form : kCollectiveForms)
      known += fmt::format("{}{} {}", known.empty() ? "" : ", ", form.operation, form.algorithm);
    return operation->error("net.file.value", fmt::format("unknown combination of {} and {}; known: {}",
                                                          quote(operation_name), quote(algorithm_name), known));
  }
  if (const Spec* dimension = spec.find("dimension")) {
    CHAKRA_ASSIGN(const int64_t d, dimension->integer());
    if (d < 0 || static_cast<uint64_t>(d) >= dimensions)
      return dimension->error("net.file.value", fmt::format("dimension {} of {}; the first is 0", d, dimensions));
    fit.dimension = static_cast<uint32_t>(d);
  }
  CHAKRA_TRY(read_members(spec, fit));
  if (fit.across && (spec.find("dimension") || dimensions < 2))
    return spec.error("net.file.value",
                      "a collective across 'nodes' has no 'dimension': a node is dimension 0, the nodes dimension 1");
  CHAKRA_TRY(read_range(spec, fit));
  CHAKRA_ASSIGN(fit.error_percent, read_parameter(spec, "error_percent", -1));
  CHAKRA_ASSIGN(fit.worst_percent, read_parameter(spec, "worst_percent", -1));
  const Spec* protocols = spec.find("protocols");
  if (!protocols || protocols->kind != Spec::Kind::list || protocols->items.empty() ||
      protocols->items.size() > kMostProtocols)
    return spec.error("net.file.key", fmt::format("a collective needs a list 'protocols' of 1 to {}", kMostProtocols));
  for (const Spec& item : protocols->items) {
    CHAKRA_ASSIGN(ProtocolFit protocol, read_protocol(item, fit.ranks.size()));
    fit.protocols.push_back(std::move(protocol));
  }
  if (const Spec* corrections = spec.find("corrections")) CHAKRA_TRY(read_corrections(*corrections, fit));
  return fit;
}

}  // namespace

Result<void> read_fits(const Spec& list, Fabric& fabric) {
  if (list.kind != Spec::Kind::list || list.items.size() > kMostFits)
    return list.error("net.file.key", fmt::format("'collectives' must be a list of at most {}", kMostFits));
  for (const Spec& item : list.items) {
    CHAKRA_ASSIGN(CollectiveFit fit, read_fit(item, fabric.dimensions.size()));
    fabric.fits.push_back(std::move(fit));
  }
  return {};
}

}  // namespace chakra::net
