#include "chakra/net/net.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace chakra::net {
namespace {

int64_t ring_hops(int64_t a, int64_t b, int64_t n) {
  const int64_t apart = std::abs(a - b);
  return std::min(apart, n - apart);  // the shorter way round
}
int64_t switch_hops(int64_t a, int64_t b, int64_t) { return a == b ? 0 : 2; }
int64_t direct_hops(int64_t a, int64_t b, int64_t) { return a == b ? 0 : 1; }

constexpr int64_t kMostRanks = int64_t{1} << 24;

}  // namespace

const std::array<TopologyRow, 3> kTopologies{{
    {"Ring", "each rank linked with the next one, both ways round", TopologyKind::ring, ring_hops},
    {"Switch", "each rank linked with one switch: two links between any two", TopologyKind::switch_, switch_hops},
    {"FullyConnected", "a link between any two ranks", TopologyKind::fully_connected, direct_hops},
}};

int64_t Fabric::size() const {
  int64_t size = 1;
  for (const Dimension& dimension : dimensions) size *= dimension.ranks;
  return size;
}

int64_t Fabric::hops(int64_t from, int64_t to) const {
  const Dimension& d = dimensions[0];
  return kTopologies[static_cast<size_t>(d.kind)].hops(from, to, d.ranks);
}

Picoseconds Fabric::latency(int64_t from, int64_t to) const {
  return picoseconds(static_cast<double>(hops(from, to)) * dimensions[0].latency_ns * 1e-9);
}

Picoseconds Fabric::serialization(uint64_t bytes) const {
  return picoseconds(static_cast<double>(bytes) / dimensions[0].bytes_per_s());
}

std::string Fabric::describe() const {
  std::string out;
  for (const Dimension& d : dimensions)
    out +=
        fmt::format("{}{} of {}, {}, {:g} ns per link", out.empty() ? "" : "; ",
                    kTopologies[static_cast<size_t>(d.kind)].name, d.ranks, show_rate(d.bytes_per_s()), d.latency_ns);
  return out;
}

Result<Fabric> parse_fabric(const Spec& spec) {
  const auto list = [&](const char* key) -> Result<const Spec*> {
    const Spec* found = spec.find(key);
    if (!found || found->kind != Spec::Kind::list || found->items.empty())
      return spec.error("net.file.key",
                        fmt::format("the network needs a list {}, one entry per dimension", quote(key)));
    return found;
  };
  CHAKRA_ASSIGN(const Spec* topologies, list("topology"));
  CHAKRA_ASSIGN(const Spec* counts, list("npus_count"));
  CHAKRA_ASSIGN(const Spec* bandwidths, list("bandwidth"));
  CHAKRA_ASSIGN(const Spec* latencies, list("latency"));
  const size_t dimensions = topologies->items.size();
  for (const Spec* other : {counts, bandwidths, latencies})
    if (other->items.size() != dimensions)
      return other->error("net.file.value",
                          fmt::format("{} entries here, but {} in 'topology'", other->items.size(), dimensions));

  Fabric fabric;
  for (size_t i = 0; i < dimensions; ++i) {
    Dimension d;
    CHAKRA_ASSIGN(const std::string name, topologies->items[i].string());
    const auto row =
        std::find_if(kTopologies.begin(), kTopologies.end(), [&](const auto& r) { return r.name == name; });
    if (row == kTopologies.end()) {
      std::string known;
      for (const TopologyRow& r : kTopologies) known += fmt::format("{}{}", known.empty() ? "" : ", ", r.name);
      return topologies->items[i].error("net.file.value", fmt::format("no topology {}; known: {}", quote(name), known));
    }
    d.kind = row->kind;
    CHAKRA_ASSIGN(d.ranks, counts->items[i].integer());
    CHAKRA_ASSIGN(d.gib_per_s, bandwidths->items[i].number());
    CHAKRA_ASSIGN(d.latency_ns, latencies->items[i].number());
    if (d.ranks < 1 || d.ranks > kMostRanks)
      return counts->items[i].error("net.file.value", fmt::format("{} ranks; expected 1 to {}", d.ranks, kMostRanks));
    if (!(d.gib_per_s > 0) || d.gib_per_s > 1e9)
      return bandwidths->items[i].error("net.file.value", fmt::format("a bandwidth of {} GB/s", d.gib_per_s));
    if (d.latency_ns < 0 || d.latency_ns > 1e12)
      return latencies->items[i].error("net.file.value", fmt::format("a latency of {} ns", d.latency_ns));
    if (fabric.size() > kMostRanks / d.ranks)
      return counts->error("net.file.value", fmt::format("more than {} ranks", kMostRanks));
    fabric.dimensions.push_back(d);
  }
  return fabric;
}

Result<Fabric> load_fabric(const std::string& path) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  return parse_fabric(spec);
}

}  // namespace chakra::net
