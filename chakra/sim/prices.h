// Cost of collectives on an idle network: the chosen plan of an operation for the places
// of a group, and the end of each member. Groups in equivalent places share one answer.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::sim {

/// Numbers distinct vectors in the order of their first use.
class Numbering {
 public:
  uint32_t operator()(const std::vector<int64_t>& key) {
    return ids_.try_emplace(key, static_cast<uint32_t>(ids_.size())).first->second;
  }
  size_t size() const { return ids_.size(); }

 private:
  absl::flat_hash_map<std::vector<int64_t>, uint32_t> ids_;
};

class Digest;

class Prices {
 public:
  /// Both must outlive this object.
  /// `shared`: choose algorithms for links that transfers share (choose_by_running).
  Prices(const net::Fabric& fabric, const coll::Selection& selection, bool shared)
      : fabric_(fabric), selection_(selection), shared_(shared) {}

  /// Number the places of ranks in the network: equal numbers have equal prices. `flow`:
  /// distinguishes groups of the same ranks if routes are chosen by a hash. Cost: O(ranks).
  uint32_t shape(std::span<const int64_t> ranks, uint64_t flow = 0);

  /// Return the choice for an operation of members in these places; valid until the next call.
  const coll::Choice& choice(uint32_t shape, const coll::Operation& op) { return chosen(shape, op).choice; }
  /// Return the time by the network's fits; no value if the fits do not
  /// cover the operation, if a rule names an algorithm, or on shared links.
  std::optional<net::FittedTime> fitted(uint32_t shape, const coll::Operation& op) const;
  /// Return whether all members do the same at the same cost. Requires no fits.
  bool all_do_the_same(uint32_t shape, const coll::Operation& op) { return costs_of(chosen(shape, op), shape).alike; }
  /// Return the reason why no rule can be followed (coll::refusal).
  std::string refusal(uint32_t shape, const coll::Operation& op) const;
  /// Return the end of each member if all begin at 0; valid until the next call. Cost: that of coll::run_closed, once.
  const std::vector<Picoseconds>& together(uint32_t shape, const coll::Operation& op);
  /// Return the least time from the arrival of the last member, in any place, to the end of any member. Cost: that of
  /// coll::run_closed, for every member if members have different costs; 0 instead of more than 2^29 steps.
  Picoseconds after_last(uint32_t shape, const coll::Operation& op);
  /// Return whether a hash of the members, rather than their places, chooses their routes: then it is false.
  bool are_comparable() const { return !hashes(); }
  /// Add the plan and the costs of an operation of members in these places, for equal_costs.h. Return false if these
  /// do not determine the times of the members. Cost: that of choice() and coll::price.
  bool add_costs(uint32_t shape, const coll::Operation& op, Digest& digest);
  /// Replace the begin of each member in `ready` by its end. Cost: that of coll::run_closed.
  void run(uint32_t shape, const coll::Operation& op, std::span<Picoseconds> ready);

 private:
  using Key = std::tuple<uint32_t, trace::CommType, uint64_t, uint32_t>;  // shape, type, bytes, root
  struct Priced {
    coll::Choice choice;
    std::vector<int64_t> ranks;  ///< by member of the plan
    std::optional<coll::PricedPlan> costs;
    std::vector<Picoseconds> together;  ///< of an operation with uneven splits: together(), or empty
  };
  using Uneven = std::pair<Key, std::vector<uint64_t>>;  // the key, and the splits
  struct Standing {
    std::vector<int64_t> ranks;  ///< the first of that shape
    uint64_t flow = 0;
  };
  bool hashes() const { return fabric_.routing.kind == net::Routing::ecmp && fabric_.has_choice(); }
  const coll::PricedPlan& costs_of(Priced& priced, uint32_t shape) const;
  Priced& chosen(uint32_t shape, const coll::Operation& op);
  std::unique_ptr<Priced> make(uint32_t shape, const coll::Operation& op) const;
  void make_room(const coll::Plan& plan);

  const net::Fabric& fabric_;
  const coll::Selection& selection_;
  bool shared_;
  Numbering shapes_;
  std::vector<std::unique_ptr<Standing>> standings_;  ///< by shape
  absl::flat_hash_map<Key, std::unique_ptr<Priced>> plans_;
  absl::flat_hash_map<Uneven, std::unique_ptr<Priced>> uneven_plans_;
  absl::flat_hash_map<Key, std::unique_ptr<std::vector<Picoseconds>>> ends_;
  absl::flat_hash_map<Key, Picoseconds> after_last_;
  size_t held_ = 0;  ///< transfers in plans_ and uneven_plans_
  std::vector<Picoseconds> ready_;
};

}  // namespace chakra::sim
