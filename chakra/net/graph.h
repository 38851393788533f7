// A network of any devices and links. Messages take the route of least latency, among those the one of
// fewest links, among those at each device the link that the file names first. Routes to a rank are found
// by Dijkstra's algorithm when the first message goes there, for all devices at once, and kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chakra/net/net.h"

namespace chakra::net {

struct Graph {
  /// The way from a device to a rank.
  struct Way {
    Picoseconds latency_ps = 0;
    LinkId next = kNoLink;
    LinkId last = kNoLink;
    LinkId narrowest = kNoLink;
    uint32_t links = 0;
  };
  using Ways = std::vector<Way>;  ///< by device

  int64_t ranks = 0;
  std::vector<std::string> names;  ///< of all devices
  std::vector<Link> links;
  /// Links by the device where they begin (out) and end (in): those of device d are
  /// out[out_first[d]] .. out[out_first[d + 1] - 1], ascending.
  std::vector<LinkId> out, in;
  std::vector<uint32_t> out_first, in_first;

  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Fills out and in, and makes room for the ways. To be called once, when links are complete.
  void finish();
  /// The first pair of ranks that no route joins; {-1, -1} if there is none. Cost: O(links).
  std::pair<int64_t, int64_t> unreachable() const;

  LinkId between(int64_t from, int64_t to) const;
  Path path(int64_t from, int64_t to) const;
  void route(int64_t from, int64_t to, std::vector<LinkId>& out_links) const;

 private:
  /// May be called by several threads at once: the first to be done keeps its ways, which are the same.
  const Ways& ways_to(int64_t rank) const;
  std::unique_ptr<const Ways> find_ways(int64_t rank) const;

  mutable std::vector<std::atomic<const Ways*>> ways_;  ///< by rank
};

}  // namespace chakra::net
