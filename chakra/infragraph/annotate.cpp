// The annotations beside an Infrastructure, as the package writes both in one file. Ranks, bandwidths and latencies
// have a meaning here; all other attributes (addresses, names of owners, ...) are private and are not read.
#include <fmt/core.h>

#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

/// The value of an attribute, or null.
Result<const Spec*> attribute(const Spec& entry, std::string_view name) {
  CHAKRA_ASSIGN(const auto attributes, items_of(entry, "attributes"));
  for (const Spec& item : attributes)
    if (const Spec* key = item.find("attribute"); key && key->scalar == name) return need(item, "value");
  return nullptr;
}

/// The package repeats the values of a link in its annotations, also gigatransfers.
Result<Change> change_of(const Spec& entry) {
  Change change;
  CHAKRA_ASSIGN(const Spec* bandwidth, attribute(entry, "bandwidth"));
  if (bandwidth && !bandwidth->scalar.ends_with(" GT/s")) {
    CHAKRA_ASSIGN(change.bytes_per_s, read_bandwidth_text(*bandwidth));
  }
  CHAKRA_ASSIGN(const Spec* latency, attribute(entry, "latency"));
  if (latency) {
    CHAKRA_ASSIGN(change.latency_ns, read_latency_text(*latency));
  }
  return change;
}

Result<void> annotate_node(Expansion& to, const Spec& node) {
  CHAKRA_ASSIGN(const Spec* value, attribute(node, "rank"));
  if (!value) return {};
  CHAKRA_ASSIGN(const Spec* name, need(node, "name"));
  CHAKRA_ASSIGN(const int64_t rank, value->integer("rank", 0, kMostNodes, "infragraph.rank"));
  CHAKRA_ASSIGN(const std::vector<uint32_t> below, expand_name(to.model, *name));
  size_t xpus = 0;
  for (const uint32_t n : below) {
    if (!to.is_xpu[n]) continue;
    ++xpus;
    if (!to.ranks.emplace(rank, n).second)
      return value->error("infragraph.rank", fmt::format("two XPUs have rank {}", rank));
  }
  if (xpus == 0) return value->error("infragraph.rank", fmt::format("{} has a rank, but no XPU", quote(name->scalar)));
  return {};
}

Result<void> annotate_link(Expansion& to, const Spec& entry) {
  CHAKRA_ASSIGN(const Spec* name, need(entry, "name"));
  CHAKRA_ASSIGN(const Change change, change_of(entry));
  CHAKRA_TRY(to.model.charge(entry, to.model.links.size()));
  bool known = false;
  for (PlacedLink& link : to.model.links) {
    if (link.name != name->scalar) continue;
    known = true;
    if (change.bytes_per_s > 0) link.bytes_per_s = change.bytes_per_s;
    if (change.latency_ns >= 0) link.latency_ns = change.latency_ns;
  }
  if (!known) return name->error("infragraph.link", fmt::format("unknown link {}", quote(name->scalar)));
  return {};
}

Result<void> annotate_edge(Expansion& to, const Spec& entry) {
  CHAKRA_ASSIGN(const Change change, change_of(entry));
  if (change.bytes_per_s <= 0 && change.latency_ns < 0) return {};
  CHAKRA_ASSIGN(const Spec* a, need(entry, "ep1"));
  CHAKRA_ASSIGN(const Spec* b, need(entry, "ep2"));
  CHAKRA_ASSIGN(const std::vector<uint32_t> from, expand_name(to.model, *a));
  CHAKRA_ASSIGN(const std::vector<uint32_t> ends, expand_name(to.model, *b));
  CHAKRA_TRY(to.model.charge(entry, uint64_t{from.size()} * ends.size()));
  bool known = false;
  for (const uint32_t x : from)
    for (const uint32_t y : ends)
      if (const auto at = to.by_ends.find(Expansion::key_of(x, y)); at != to.by_ends.end()) {
        to.changes[at->second] = change;
        known = true;
      }
  if (!known)
    return entry.error("infragraph.edge", fmt::format("no edge joins {} and {}", quote(a->scalar), quote(b->scalar)));
  return {};
}

Result<void> each(Expansion& to, const Spec& annotations, std::string_view key,
                  Result<void> (*apply)(Expansion&, const Spec&)) {
  CHAKRA_ASSIGN(const auto entries, items_of(annotations, key));
  for (const Spec& entry : entries) CHAKRA_TRY(apply(to, entry));
  return {};
}

}  // namespace

Result<void> annotate(Expansion& to, const Spec& annotations) {
  CHAKRA_TRY(each(to, annotations, "nodes", annotate_node));
  CHAKRA_TRY(each(to, annotations, "links", annotate_link));
  return each(to, annotations, "edges", annotate_edge);
}

}  // namespace chakra::infragraph
