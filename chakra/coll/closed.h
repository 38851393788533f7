// The execution of a priced plan: a max-plus recurrence over members and rounds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "chakra/coll/coll.h"

namespace chakra::coll {

/// The time per byte at a rate of almost zero: finite, so that 0 bytes take 0.
inline constexpr double kSlowest = 1e18;

inline double later(double a, double b) { return a < b ? b : a; }

/// Return when each member ends, in ps since the earliest start, without extra_ps. Requires a start per member, n > 0.
std::vector<double> ends_after(const PricedPlan& plan, std::span<const Picoseconds> ready);

/// Return the same if all members start at 0. If the costs of the members repeat every p members, the first p members
/// stand for all, to the last bit. nullopt, at times, if they end later than `longest` ps. Cost: O(rounds x p +
/// different costs).
std::optional<std::vector<double>> ends_together(const PricedPlan& plan, double longest);

/// Return a time before which the last member does not end if all start at 0. Cost: O(rounds + different costs).
double not_before(const PricedPlan& plan);

}  // namespace chakra::coll
