// Load of collectives and messages on each link during their runs. A collective uses a link in some rounds
// only, so a load has a mean and a peak: two loads of mean 1/2 disturb each other only if the peaks coincide.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::sim {

/// Shares of a trunk's rate that a user takes while it runs. Users of one timeline run together and count as one.
struct LinkLoad {
  uint32_t timeline = 0;
  double mean = 0;  ///< over the whole time of the user
  double peak = 0;  ///< while data move in the round that loads the trunk most; between mean and 1 for each user
};

/// Add up the means and peaks of neighbours with equal keys. Requires loads; the first of its neighbours stays.
template <class Load, class Key>
void join_equal(std::vector<Load>& loads, Key Load::*key) {
  size_t kept = 0;
  for (size_t i = 1; i < loads.size(); ++i) {
    if (loads[i].*key != loads[kept].*key) {
      loads[++kept] = loads[i];
      continue;
    }
    loads[kept].mean += loads[i].mean;
    loads[kept].peak += loads[i].peak;
  }
  loads.resize(kept + 1);
}

class LinkLoads {
 public:
  /// The fabric must outlive this object. `most`: approximate limit of transfers to examine. Of many
  /// equivalent groups only the first ones are examined: links near these groups have the full load,
  /// other links less. In addition there is the mean over all links of a kind, which is never too high.
  LinkLoads(const net::Fabric& fabric, uint64_t most) : fabric_(fabric), left_(most) {}

  /// Add a plan that takes `seconds` alone, run by `count` groups at once, of which `groups` are the first;
  /// `order` as in coll::Choice. Cost: O(distinct transfers x links of their routes) for each examined group.
  void add(uint32_t timeline, const coll::Plan& plan, std::span<const uint32_t> order,
           std::span<const std::vector<int64_t>> groups, size_t count, uint64_t flow, double seconds);
  static constexpr size_t kMostGroups = size_t{1} << 13;  ///< limit of examined groups

  /// A link, or the mean of all links of a kind if not all groups were examined.
  struct Place {
    net::TrunkId trunk = net::kNoLink;  ///< kNoLink: mean over `kind`
    uint32_t kind = 0;
    std::vector<LinkLoad> loads;  ///< by timeline, ascending
  };
  /// Return all places with a load. Must be called once.
  std::vector<Place> places();

 private:
  /// The transfers of a plan; rounds between the same pairs are merged.
  struct Pattern {
    struct Rounds {
      uint32_t lane = 0;
      double count = 0;
      std::vector<std::pair<uint32_t, double>> sent;  ///< pair, bytes of all these rounds
    };
    std::vector<std::pair<uint32_t, uint32_t>> pairs;  ///< members
    std::vector<Rounds> rounds;                        ///< by lane, ascending
    uint64_t cost = 0;                                 ///< per group
  };
  struct Slot {
    net::TrunkId trunk = 0;
    double bytes_per_s = 0;
    double mean = 0, peak = 0, lane_peak = 0, round = 0;  ///< of the current group, seconds and shares
    std::vector<LinkLoad> loads;
  };
  /// Load of the users of a timeline on the links of a kind.
  struct KindLoad {
    uint32_t timeline = 0, kind = 0;
    double mean = 0, peak = 0;  ///< sums over the links
  };
  class PatternMaker;

  static Pattern pattern_of(const coll::Plan& plan, uint64_t most);
  uint32_t slot_of(net::TrunkId trunk);
  void find_loads(const Pattern& pattern, const std::vector<int64_t>& ranks, std::span<const uint32_t> order,
                  uint64_t flow, double seconds);
  void play(const Pattern::Rounds& rounds);
  void end_lane();
  void put(uint32_t timeline);
  void put_by_kind(uint32_t timeline, size_t first);
  void add_kinds(std::vector<Place>& out) const;

  const net::Fabric& fabric_;
  uint64_t left_;
  bool by_kind_ = false;  ///< not all groups were examined
  std::vector<uint32_t> slot_of_;
  std::vector<Slot> slots_;
  std::vector<KindLoad> kinds_;
  // Of the current group:
  std::vector<net::Use> uses_;
  std::vector<uint32_t> first_use_;  ///< by pair
  std::vector<uint32_t> touched_, in_lane_, in_round_;
};

}  // namespace chakra::sim
