// Networks: which devices there are, how far they are apart, what a transfer costs. A Fabric comes
// from the ecosystem's YAML file (docs/formats/network.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::net {

enum class TopologyKind : uint8_t { ring, switch_, fully_connected };

struct TopologyRow {
  std::string_view name;  ///< as in the file
  std::string_view description;
  TopologyKind kind;
  /// Links that a message from rank a to rank b of n passes.
  int64_t (*hops)(int64_t a, int64_t b, int64_t n);
};
extern const std::array<TopologyRow, 3> kTopologies;

/// One dimension of the network; ranks 0 .. ranks-1 stand in it in order.
struct Dimension {
  TopologyKind kind = TopologyKind::ring;
  int64_t ranks = 0;
  double gib_per_s = 0;   ///< of each link and direction; the file's GB/s, which are 2^30 bytes
  double latency_ns = 0;  ///< of each link

  double bytes_per_s() const { return gib_per_s * 1073741824.0; }
};

struct Fabric {
  std::vector<Dimension> dimensions;  ///< inner first

  int64_t size() const;
  /// Links between two ranks. Requires one dimension.
  int64_t hops(int64_t from, int64_t to) const;
  /// From the first byte leaving to the first byte arriving.
  Picoseconds latency(int64_t from, int64_t to) const;
  /// Time to push `bytes` through the narrowest link of a path.
  Picoseconds serialization(uint64_t bytes) const;

  std::string describe() const;  ///< "Ring of 8, 53.7 GB/s, 500 ns per link"
};

/// Errors: net.file.key, net.file.value, and those of load_spec.
Result<Fabric> load_fabric(const std::string& path);
Result<Fabric> parse_fabric(const Spec& spec);

}  // namespace chakra::net
