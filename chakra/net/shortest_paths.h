// All shortest paths of a graph of devices: the distance of each device from a rank, and the
// proportions in which a message that is spread over the paths passes the hops. The first message
// to a rank finds the paths from all devices to that rank at once; the paths are then kept. If turns
// (turns.h) map the graph onto itself, the paths to one rank of an orbit are those to all, turned.
//
// Shortest means least (sum of Hop::far, hops): Metric decides the value of
// Hop::far. A path leads through ranks only if no path leads through switches alone.
//
// With d(v) the distance of device v from the rank, a hop v -> w lies on a shortest path where d(v) = d(w) + 1. The
// number of shortest paths from v is p(v) = sum of p(w) over these hops, for each of their links. Weights follow the
// capacity, as in weighted-cost multipathing (Zhou et al., "WCMP", 2014):
//
//     c(v -> w) = p(w) * min(rate(v -> w), c(w) / p(w)) for each link,    c(v) = sum of c(v -> w),
//
// and of the traffic that reaches v, the part c(v -> w) / c(v) continues over the hop to w. c(w) / p(w) is the mean
// rate of a path from w on: a path counts as much as its narrowest link. So if all links are equal, each path carries
// the same; a link of half the rate gets half as much as a full link, and a link of rate 0 as much as a missing link.
// The last switch before the rank has no limit, nor has the port after the switch: all paths share both. Rates are
// relative to the graph's fastest link, so that equal links have weights that are exactly the numbers of paths.
//
// Why paths and not the maximum flow (min(rate, c(w)) alone): a switch with three of four uplinks forwards traffic
// of several switches below. If each of these sent as much as to a full switch, the uplinks would carry four thirds.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "chakra/net/net.h"
#include "chakra/net/turns.h"

namespace chakra::net {

/// `count` links from each device of `from` to devices of `to`, all of one trunk.
struct Hop {
  uint32_t from = 0, to = 0;
  LinkId trunk = 0;
  uint32_t count = 1;
  Picoseconds latency_ps = 0;
  Picoseconds far = 0;  ///< compared before the number of hops
  double rate = 1;      ///< of one link, as a part of the fastest link's rate
};

/// The shortest paths. Where a function takes ranks, `from` and `to` may also be switches that switches alone join.
class ShortestPaths {
 public:
  /// Devices are ranks 0 .. ranks-1, then switches. `hops` may have any order; the hops of a device are tried by trunk.
  ShortestPaths(int64_t ranks, uint32_t devices, std::vector<Hop> hops, bool forwarding, DeviceTurns turns = {});
  ~ShortestPaths();
  ShortestPaths(const ShortestPaths&) = delete;
  ShortestPaths& operator=(const ShortestPaths&) = delete;

  /// A hop on which a message to rank `to` may continue.
  struct Next {
    const Hop* hop;
    double paths;         ///< number of shortest paths that begin with this hop
    double weight;        ///< share of a spread message, relative to the weights of the other hops
    Picoseconds latency;  ///< the longest of these paths
  };
  /// List the hops with which shortest paths to rank `to` begin at `device`, by trunk; empty if no
  /// path leads to the rank. `through` is the result of through_ranks(). Requires device != to. Cost:
  /// O(hops of the device), and the search for the first message to that orbit of ranks: O(hops log devices).
  void next(uint32_t device, int64_t to, bool through, std::vector<Next>& out) const;
  /// Return whether a message must pass through ranks. Cost: that of next().
  bool through_ranks(int64_t from, int64_t to) const;
  /// Return the number of shortest paths, at most 1e200. Cost: that of next().
  double paths(int64_t from, int64_t to) const;
  /// Append the trunks of the path that takes the first hop everywhere. Cost: that of next() per hop.
  void first_path(int64_t from, int64_t to, std::vector<LinkId>& out) const;
  /// Append trunks with the share of a message that passes each trunk if all shortest paths share the message
  /// by weight, and return the longest latency. Cost: O(hops on shortest paths x devices at one distance).
  Picoseconds uses(int64_t from, int64_t to, std::vector<Use>& out) const;

  /// Add, by trunk, the bytes of exchanges in which each rank sends one byte to each other rank of its row: `ranks`
  /// lists rows of `extent` ranks, one after the other. Requires joined_by_switches() and different ranks. Cost:
  /// O(ranks x turns + orbits of rows x orbits of roots x (extent + hops) + all hops), where orbits are those of the
  /// turns that map rows onto rows.
  void add_exchanges(std::span<const int64_t> ranks, size_t extent, std::vector<double>& bytes) const;

  /// Return the first pair of ranks that no path joins; {-1, -1} if all are joined. Cost:
  /// O(hops) if all ranks hang on switches that reach each other; else up to O(ranks x hops).
  std::pair<int64_t, int64_t> unreachable() const;
  /// Return the one switch from which a rank is reached, or the rank itself: ranks of one switch share ways.
  uint32_t root_of(int64_t rank) const;
  /// Return whether switches alone join all ranks, so that only the ways of switches are kept.
  bool joined_by_switches() const { return joined_by_switches_; }

 private:
  /// The shortest paths from a device to a rank.
  struct Way {
    Picoseconds far = kNever;  ///< the sum of Hop::far
    double paths = 0, weight = 0;
    Picoseconds latency = 0;  ///< the longest of the shortest paths
    uint32_t hops = 0;
    uint32_t hop = 0;      ///< the first hop of one path: into in_
    uint32_t choices = 0;  ///< number of first hops
    bool reaches() const { return far != kNever; }
    static Way at_root() { return {.far = 0, .paths = 1, .weight = std::numeric_limits<double>::infinity()}; }
  };
  /// Ways to a device: from switches, or from all devices if paths lead through ranks.
  using Ways = std::vector<Way>;

  /// The ways to a root: those to the first root of its orbit, and the steps from there.
  struct Turned {
    const ShortestPaths* paths;
    const Ways* ways;
    uint32_t root;
    uint32_t base;       ///< the first device with a way
    bool moved = false;  ///< some step is not 0
    Turns::Steps steps{};
    const Way& operator[](uint32_t device) const {
      return (*ways)[(moved ? paths->turns_.turned(device, steps, true) : device) - base];
    }
  };
  class Exchange;

  void next(uint32_t device, int64_t to, const Turned& ways, std::vector<Next>& out) const;

  std::unique_ptr<const Ways> find(uint32_t root, bool through) const;
  const Ways& ways_of_orbit(uint32_t root, bool through) const;
  Turned ways_to(uint32_t root, bool through) const;
  /// Return the ways to a rank: those to its root, or through ranks to the rank itself.
  Turned ways_to_rank(int64_t rank, bool through) const {
    return ways_to(through ? static_cast<uint32_t>(rank) : root_of(rank), through);
  }
  /// Return the first hop of the only path from a device.
  const Hop& only_hop(const Turned& ways, uint32_t device) const;
  /// Return the hop into which the steps turn a hop.
  const Hop& turned(const Hop& hop, const Turns::Steps& steps, bool back) const;
  /// Return the hop of out_ between these devices that has the rate and latency of `hop`. Requires turns.
  /// Cost: O(log hops of a device).
  const Hop& like(const Hop& hop, uint32_t from, uint32_t to) const;
  Way step(const Hop& hop, const Way& rest) const;
  /// Find the devices reached from one, or with `back` the devices that reach it; ranks forward only if `through`.
  std::vector<bool> reached(uint32_t device, bool back, bool through) const;
  /// Return rank 0 and a rank that miss each other by way of the device; {-1, -1} if all are joined.
  std::pair<int64_t, int64_t> both_ways(uint32_t device, bool through) const;
  bool find_whether_switches_join() const;

  uint32_t ranks_, devices_;
  bool forwarding_, joined_by_switches_ = false;
  std::vector<Hop> out_, in_;  ///< by first device; by last device; then by trunk
  std::vector<uint32_t> out_first_, in_first_;
  DeviceTurns turns_;
  struct End {
    uint32_t to, hop;  ///< last device; into out_
  };
  std::vector<End> by_to_;  ///< with turns: of the hops of each device, by their last device
  mutable std::vector<std::atomic<const Ways*>> ways_;          ///< by root
  mutable std::vector<std::atomic<const Ways*>> ways_through_;  ///< the same through ranks
};

}  // namespace chakra::net
