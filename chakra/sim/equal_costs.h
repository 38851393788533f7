// Finds groups whose operations cost the same, also in unlike places of the network. In closed form, the plans and the
// costs of transfers determine what members do. Groups with equal plans and equal costs therefore behave identically,
// although no turn of the network (turns.h) may map one onto the other. On shared links, this header compares the plans
// alone, and equal_links.h compares the links. Inside sim.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/sim/ties.h"

namespace chakra::sim {

/// A hash of 128 bits: different contents have equal digests only by chance.
class Digest {
 public:
  void add(uint64_t value);
  std::pair<uint64_t, uint64_t> value() const { return {a_, b_}; }

 private:
  uint64_t a_ = 0, b_ = 0;
};

/// Add a choice, its plan and, if not null, its costs. Return whether these state all costs: those of some plans are
/// looked up at the place again in each run.
bool add_costs(const coll::Choice& choice, const coll::PricedPlan* costs, Digest& digest);

/// Set Members::costs: equal numbers for groups in equivalent places, and for groups whose operations cost the same.
/// Cost: O(members of groups), and where groups with the same operations are in different places, that of pricing the
/// operations in each.
void find_equal_costs(const trace::ClassJob& job, Ties& ties, Prices& prices);

}  // namespace chakra::sim
