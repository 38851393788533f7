// Links that carry several collectives and messages at the same time, and the additional time. In closed form
// collectives and messages do not contend with each other, so closed-form prices of such links are too low.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"
#include "chakra/sim/link_loads.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {

/// Begin and end of a use of the network.
struct Span {
  Picoseconds begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

class SharedLinks {
 public:
  /// The fabric must outlive this object. `most`: limit of transfers to examine one by one (LinkLoads).
  SharedLinks(const net::Fabric& fabric, uint64_t most) : fabric_(fabric), loads_(fabric, most) {}

  /// Add as in LinkLoads::add, with the times at which all groups run the plan; at least one span. Return the timeline.
  uint32_t add(const coll::Plan& plan, std::span<const uint32_t> order, std::span<const std::vector<int64_t>> groups,
               size_t count, uint64_t flow, double seconds, std::vector<Span> spans);
  /// Add transfers at another time, too, than the one at which they were added: they are no demand over time.
  void add_again(const coll::Plan& plan, std::span<const uint32_t> order, std::span<const std::vector<int64_t>> groups,
                 size_t count, uint64_t flow, double seconds, std::vector<Span> spans);

  /// Count the transfers of the plan, of `groups` groups, for each span of the timeline. For Sharing::flows.
  void count(uint32_t timeline, const coll::Plan& plan, size_t groups);
  /// Must be called once. `over_time`: if not null, fill with the demand on links up to the time `until`: within a
  /// span, a timeline demands its mean load. Cost: O(n log n) for the n spans of each timeline on each set of links
  /// with equal loads.
  Sharing find(LoadsOverTime* over_time = nullptr, Picoseconds until = 0);

 private:
  /// Places with equal loads.
  struct Row {
    size_t place = 0, count = 0;
    double peaks = 0;
  };
  struct Edge {
    Picoseconds time;
    uint32_t load;  ///< of the place
    bool begins;
  };
  /// Demand above the rate, as a share of the rate.
  struct Excess {
    Picoseconds begin, end;
    double share;
  };

  /// Transfers of all groups of a timeline, per span.
  struct Flows {
    double all = 0, rounds = 1;
  };

  uint32_t timeline(std::vector<Span>&& spans);
  double rate_changes() const;
  std::vector<Row> rows(const std::vector<LinkLoads::Place>& places) const;
  SharedLink look_at(const LinkLoads::Place& place, std::vector<Excess>& out);
  std::string name(const LinkLoads::Place& place) const;
  LoadsOverTime demand(const std::vector<LinkLoads::Place>& places, Picoseconds until) const;

  const net::Fabric& fabric_;
  LinkLoads loads_;
  std::vector<std::vector<Span>> timelines_;
  std::vector<Flows> flows_;                                    ///< by timeline
  std::vector<char> demands_;                                   ///< by timeline: counts as demand over time
  std::vector<uint32_t> most_at_once_;                          ///< by timeline: spans that overlap
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> known_;  ///< timelines by hash
  std::vector<Edge> edges_;
  std::vector<uint32_t> active_;    ///< by load of a place: spans under way
  std::vector<Picoseconds> since_;  ///< likewise: begin of the last one
};

}  // namespace chakra::sim
