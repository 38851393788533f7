// All shortest paths of a graph of devices: how far each device is from a rank, and in which proportions a message that
// is spread over the paths passes its hops. Paths to a rank are found when the first message goes there, for
// all devices at once, and kept.
//
// Shortest is least (sum of Hop::far, hops): Metric decides what a hop is far. A path leads through ranks only where
// none leads through switches alone.
//
// With d(v) the distance of device v from the rank, a hop v -> w lies on a shortest path where d(v) = d(w) + 1. The
// number of shortest paths from v is p(v) = sum of p(w) over these hops, for each of their links. Weights follow the
// capacity, as in weighted-cost multipathing (Zhou et al., "WCMP", 2014):
//
//     c(v -> w) = p(w) * min(rate(v -> w), c(w) / p(w)) for each link,    c(v) = sum of c(v -> w),
//
// and of what comes to v the part c(v -> w) / c(v) goes on over the hop to w. c(w) / p(w) is the mean rate that a path
// from w on has: a path counts as much as its narrowest link. So where all links are equal, each path carries the same;
// a link of half the rate gets half of what its like get, and a link of rate 0 what a missing one gets. The last switch
// before the rank has no limit, nor has the port after it: all paths share them. Rates are parts of the graph's
// fastest link's, so that equal links have weights that are exactly their numbers of paths.
//
// Why paths and not the largest flow (min(rate, c(w)) alone): a switch with three of four uplinks passes on what
// several switches below send. If each of these sent it as much as a whole one, its uplinks would carry four thirds.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "chakra/net/net.h"

namespace chakra::net {

/// `count` links from each device of `from` to devices of `to`, all of one trunk.
struct Hop {
  uint32_t from = 0, to = 0;
  LinkId trunk = 0;
  uint32_t count = 1;
  Picoseconds latency_ps = 0;
  Picoseconds far = 0;  ///< what counts before hops
  double rate = 1;      ///< of a link, as a part of the fastest one's
};

/// Where ranks are asked for, `from` and `to` may be switches, too, that switches alone join.
class ShortestPaths {
 public:
  /// Devices are ranks 0 .. ranks-1, then switches. Hops in any order; those of a device are tried by trunk.
  ShortestPaths(int64_t ranks, uint32_t devices, std::vector<Hop> hops, bool forwarding);
  ~ShortestPaths();
  ShortestPaths(const ShortestPaths&) = delete;
  ShortestPaths& operator=(const ShortestPaths&) = delete;

  /// Where something is on its way to rank `to`, and where it may go on.
  struct Next {
    const Hop* hop;
    double paths;         ///< shortest paths that begin with it
    double weight;        ///< its part of a message that is spread, among those of the other hops
    Picoseconds latency;  ///< the longest of them
  };
  /// The hops with which shortest paths to rank `to` begin at `device`, by trunk; none where no path leads there.
  /// `through`: as told by through_ranks(). Requires device != to. Cost: O(hops of the device), and the search for
  /// the first message to that rank: O(hops log devices).
  void next(uint32_t device, int64_t to, bool through, std::vector<Next>& out) const;
  /// Whether a message has to pass through ranks. Cost: that of next().
  bool through_ranks(int64_t from, int64_t to) const;
  /// How many shortest paths there are, 1e200 at most. Cost: that of next().
  double paths(int64_t from, int64_t to) const;
  /// Appends the trunks of the path that takes the first hop everywhere. Cost: that of next() per hop.
  void first_path(int64_t from, int64_t to, std::vector<LinkId>& out) const;
  /// Appends trunks with the share of a message that passes each where all shortest paths share it by their weights,
  /// and returns the longest latency. Cost: O(hops on shortest paths x devices at one distance).
  Picoseconds uses(int64_t from, int64_t to, std::vector<Use>& out) const;

  /// Adds, by trunk, what an exchange puts on it in which each of the ranks sends one byte to each other. Requires
  /// joined_by_switches(). Cost: O(roots of ranks x (ranks + hops)).
  void add_exchange(std::span<const int64_t> ranks, std::vector<double>& bytes) const;

  /// The first pair of ranks that no path joins; {-1, -1} if there is none. Cost: O(hops), where all ranks hang on
  /// switches that reach each other; else up to O(ranks x hops).
  std::pair<int64_t, int64_t> unreachable() const;
  /// The one switch from which a rank is reached, or the rank itself: ranks of one switch share its ways.
  uint32_t root_of(int64_t rank) const;
  /// Whether switches alone join all ranks, so that ways of switches are kept, and none of ranks.
  bool joined_by_switches() const { return joined_by_switches_; }

 private:
  /// Of a device as seen from a rank.
  struct Way {
    Picoseconds far = kNever;  ///< the sum of Hop::far
    double paths = 0, weight = 0;
    Picoseconds latency = 0;  ///< the longest of the shortest paths
    uint32_t hops = 0;
    uint32_t hop = 0;      ///< with which one begins: into in_
    uint32_t choices = 0;  ///< hops with which one begins
    bool reaches() const { return far != kNever; }
    static Way at_root() { return {.far = 0, .paths = 1, .weight = std::numeric_limits<double>::infinity()}; }
  };
  /// Ways to a device: of switches, or of all devices where paths lead through ranks.
  using Ways = std::vector<Way>;

  std::unique_ptr<const Ways> find(uint32_t root, bool through) const;
  const Ways& ways_to(uint32_t root, bool through) const;
  Way step(const Hop& hop, const Way& rest) const;
  /// Devices reached from one, or with `back` those that reach it; ranks pass nothing on unless `through`.
  std::vector<bool> reached(uint32_t device, bool back, bool through) const;
  /// A rank and rank 0 that miss each other by way of the device; {-1, -1} if there is none.
  std::pair<int64_t, int64_t> both_ways(uint32_t device, bool through) const;
  bool find_whether_switches_join() const;

  uint32_t ranks_, devices_;
  bool forwarding_, joined_by_switches_ = false;
  std::vector<Hop> out_, in_;  ///< by the device where they begin, end; then by trunk
  std::vector<uint32_t> out_first_, in_first_;
  mutable std::vector<std::atomic<const Ways*>> ways_;          ///< by root
  mutable std::vector<std::atomic<const Ways*>> ways_through_;  ///< the same through ranks
};

}  // namespace chakra::net
