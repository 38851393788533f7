// The cost of the transfers of a round while all are under way: each link carries all traffic of the
// round on that link, and a transfer has left when the busiest link of its route has carried all.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <span>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/coll/targets.h"

namespace chakra::coll {

class Fares {
 public:
  explicit Fares(const Place& place);

  /// List, at q * members + i, the cost per byte of the transfer of shift q and member i. Cost: O(transfers x links).
  void of_shift(const Targets& targets, std::vector<PricedPlan::Fare>& out);
  /// Append the cost of each transfer as a whole.
  void of_list(const std::vector<Transfer>& list, std::vector<PricedPlan::Fare>& out);
  /// Call take(trunk, bytes) for each link and its traffic in the last priced
  /// round; once. For a shift round, the traffic is per byte of a transfer.
  template <class Take>
  void take_loads(const Take& take);
  double ps_per_byte(net::TrunkId trunk);
  uint64_t transfers() const { return transfers_; }  ///< priced so far

 private:
  /// Links with consecutive numbers; each carries this share of a transfer.
  struct Run {
    net::TrunkId first, count;
    double share;
  };
  static constexpr uint32_t kNotKept = UINT32_MAX;
  struct Links {
    uint32_t first = 0, count = 0;  ///< in runs_; kNotKept: recomputed on use
  };
  struct Way {
    Links links;
    double latency_ps = 0;
  };

  void begin(size_t transfers);
  Way find(uint32_t from, uint32_t to);
  Picoseconds add_runs(uint32_t from, uint32_t to);
  void charge(const Links& links, double bytes);
  double busiest(uint32_t from, uint32_t to, const Links& links);

  Place place_;
  net::Fabric fabric_;
  std::vector<double> bytes_, ps_per_byte_;  ///< by trunk; ps_per_byte_: 0 until known
  std::vector<net::TrunkId> not_kept_;       ///< links that were first used by a way that is not kept
  std::vector<Run> runs_;
  std::vector<net::Use> uses_;                   ///< of one way
  std::vector<Links> ways_;                      ///< of the round's transfers
  absl::flat_hash_map<uint64_t, Way> of_lists_;  ///< by members; lists return to the same pairs, shifts do not
  uint64_t transfers_ = 0;
};

template <class Take>
void Fares::take_loads(const Take& take) {
  const auto take_one = [&](net::TrunkId trunk) {
    if (bytes_[trunk] == 0) return;  // taken already
    take(trunk, bytes_[trunk]);
    bytes_[trunk] = 0;
  };
  for (const Links& links : ways_)
    for (uint32_t r = 0; links.count != kNotKept && r < links.count; ++r)
      for (uint32_t i = 0; i < runs_[links.first + r].count; ++i) take_one(runs_[links.first + r].first + i);
  for (const net::TrunkId trunk : not_kept_) take_one(trunk);
  ways_.clear();
  not_kept_.clear();
}

}  // namespace chakra::coll
