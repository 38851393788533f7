// Groups whose operations cost the same, wherever their members are. What members do in closed form follows from the
// plans of the group's operations and from the costs of the transfers: groups with equal plans and equal costs behave
// identically, even if no turn of the network maps one onto the other (turns.h). On shared links only the plans are
// compared, and equal_links.h compares the links. Inside sim.
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
