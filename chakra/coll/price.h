// What the transfers of a round cost while all of them are under way: each link carries all that the round sends over
// it, and what passes a link has left when the busiest link of its way has carried all.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <span>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/coll/targets.h"

namespace chakra::coll {

class Fares {
 public:
  struct Load {
    net::TrunkId trunk;
    double bytes;  ///< shift round: per byte of a transfer
  };

  explicit Fares(const Place& place);

  /// Per shift q and member i, at q * members + i: what the transfer costs, per byte. Cost: O(transfers x links).
  void of_shift(const Targets& targets, std::vector<PricedPlan::Fare>& out);
  /// Per transfer, as a whole.
  void of_list(const std::vector<Transfer>& list, std::vector<PricedPlan::Fare>& out);
  /// What the links carry in the round asked for last.
  std::vector<Load> loads() const;
  double ps_per_byte(net::TrunkId trunk) const { return ps_per_byte_[trunk]; }
  uint64_t transfers() const { return transfers_; }  ///< looked at so far

 private:
  struct Way {
    double latency_ps = 0;
    uint32_t first = 0, count = 0;  ///< its links, in uses_; kNotKept: worked out anew where they are needed
  };

  void begin(size_t transfers);
  Way find(uint32_t from, uint32_t to);
  void charge(const Way& way, double bytes);
  double busiest(uint32_t from, uint32_t to, const Way& way);

  Place place_;
  net::Fabric fabric_;
  std::vector<double> bytes_, ps_per_byte_;  ///< by trunk; ps_per_byte_: 0 where it is not known yet
  std::vector<net::TrunkId> touched_;
  std::vector<net::Use> uses_;
  std::vector<Way> ways_;                        ///< of the round's transfers
  absl::flat_hash_map<uint64_t, Way> of_lists_;  ///< by members; lists come back to the same pairs, shifts do not
  uint64_t transfers_ = 0;
};

/// When each member ends, in ps since the earliest start, without extra_ps. Requires a member and its start.
std::vector<double> ends_after(const PricedPlan& plan, std::span<const Picoseconds> ready);

}  // namespace chakra::coll
