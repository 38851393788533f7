// How busy collectives and messages keep each link while they run. A collective uses a link in some of its rounds and
// not in others, so a load has a mean and a peak: two loads of mean 1/2 disturb each other if their peaks meet.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::sim {

/// Shares of a trunk's rate that a user takes while it runs. Users of one timeline run at the same times and are one.
struct LinkLoad {
  uint32_t timeline = 0;
  double mean = 0;  ///< over all of its time
  double peak = 0;  ///< in the round that loads the trunk most; from mean to 1 for each user
};

class LinkLoads {
 public:
  /// The fabric must outlive it. `most`: transfers to look at, about. Of many groups that stand alike the first ones
  /// are looked at: the links near them have all that they carry, others less. Beside them stands the mean of all links
  /// of a kind, which is never too high.
  LinkLoads(const net::Fabric& fabric, uint64_t most) : fabric_(fabric), left_(most) {}

  /// A plan that takes `seconds` alone, run by each of `count` groups at once, of which `groups` are the first; `order`
  /// as in coll::Choice. Cost: O(transfers that differ x links of their ways), for each group that is looked at.
  void add(uint32_t timeline, const coll::Plan& plan, std::span<const uint32_t> order,
           std::span<const std::vector<int64_t>> groups, size_t count, uint64_t flow, double seconds);
  static constexpr size_t kMostGroups = size_t{1} << 13;  ///< that are looked at

  /// A link, or the mean of all links of a kind where not all groups were looked at.
  struct Place {
    net::TrunkId trunk = net::kNoLink;  ///< kNoLink: of `kind`
    uint32_t kind = 0;
    std::vector<LinkLoad> loads;  ///< by timeline, ascending
  };
  /// All places that carry something. To be called once.
  std::vector<Place> places();

 private:
  /// A plan's transfers: rounds of the same pairs are one.
  struct Pattern {
    struct Rounds {
      uint32_t lane = 0;
      double count = 0;
      std::vector<std::pair<uint32_t, double>> sent;  ///< pair, bytes of all these rounds
    };
    std::vector<std::pair<uint32_t, uint32_t>> pairs;  ///< members
    std::vector<Rounds> rounds;                        ///< by lane, ascending
    uint64_t cost = 0;                                 ///< of a group
  };
  struct Slot {
    net::TrunkId trunk = 0;
    double bytes_per_s = 0;
    double mean = 0, peak = 0, lane_peak = 0, round = 0;  ///< of the group that is looked at, seconds and shares
    std::vector<LinkLoad> loads;
  };
  /// What the users of a timeline put on the links of a kind.
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
  void put_by_kind(uint32_t timeline, double groups);
  void add_kinds(std::vector<Place>& out) const;

  const net::Fabric& fabric_;
  uint64_t left_;
  bool by_kind_ = false;  ///< not all groups were looked at
  std::vector<uint32_t> slot_of_;
  std::vector<Slot> slots_;
  std::vector<KindLoad> kinds_;
  // Of the group that is looked at:
  std::vector<net::Use> uses_;
  std::vector<uint32_t> first_use_;  ///< by pair
  std::vector<double> latency_s_;    ///< by pair
  std::vector<uint32_t> touched_, in_lane_, in_round_;
};

}  // namespace chakra::sim
