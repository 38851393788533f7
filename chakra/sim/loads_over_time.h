// The load of links over time, as rows for people: the busiest links, one for each set of equal ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/net/net.h"

namespace chakra::sim {

/// The load of a link over equal intervals from time 0.
struct LinkLoadsOverTime {
  std::string link;          ///< "leaf0 -> spine1", or a kind of links if only means are known
  int64_t links = 1;         ///< with equal loads, this one included
  std::vector<double> mean;  ///< share of the link's rate, by interval
  std::vector<double> peak;  ///< upper bound of the demand at a time in the interval; empty: not known
};

/// A time in which the load of a link is constant, as far as is known.
struct LoadPiece {
  std::string link;
  int64_t links = 1;
  Picoseconds start_ps = 0, end_ps = 0;
  double share = 0;            ///< of the link's rate
  std::optional<double> peak;  ///< upper bound at a time; nullopt: not known
};

struct LoadsOverTime {
  int64_t links = 0;     ///< with a load
  bool sampled = false;  ///< not all equivalent groups, or not all links, were examined: there are at least these loads
  /// Of the links with the most load, by link and time; times without load are left out.
  std::vector<LoadPiece> busiest;
};
inline constexpr size_t kMostLoadedLinks = 12;

/// Choose the busiest links. Links with equal loads (to 1/10,000 of the rate) are one. `until`: the end of the run.
LoadsOverTime loads_over_time(std::vector<LinkLoadsOverTime> links, Picoseconds interval_ps, Picoseconds until);
/// Likewise, of bytes that a network counted.
LoadsOverTime loads_over_time(const net::Fabric& fabric, const net::LinkHistory& history, Picoseconds until);

/// Return the interval that divides a run into at most 48 intervals.
Picoseconds load_interval(Picoseconds until);

}  // namespace chakra::sim
