// A single collective on an idle network, with contention between transfers of the collective.
#pragma once

#include <optional>
#include <span>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"
#include "chakra/sim/traffic.h"

namespace chakra::sim {

/// On shared links, a candidate must be faster by this factor to replace the one that closed form chooses. Closed form
/// and fluid so take the same algorithm where the price is right.
inline constexpr double kSharedClose = 1.03;

/// Plans of more transfers are not simulated alone, since a run has many.
inline constexpr uint64_t kMostTransfersAlone = uint64_t{1} << 14;

/// Return the number of transfers between members. Cost: O(rounds).
uint64_t transfers_of(const coll::Plan& plan);
/// Return the sends of `members` that stand for all members of the plan; of lists those of all. Cost: O(rounds).
uint64_t transfers_of(const coll::Plan& plan, size_t members);
uint64_t transfers_of(const coll::Round& round, size_t members);

/// Return the end of the last member if members begin at `arrivals`, from 0; empty: all at 0. Requires fluid or packet.
/// Cost: that of Traffic.
Picoseconds time_alone(const net::Fabric& fabric, Congestion congestion, const coll::Plan& plan,
                       std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
                       std::span<const Picoseconds> arrivals = {});

/// Return the end of the last member if all begin at 0, in fluid. Equivalent members and links stand for each other
/// (equal_links.h). No value if that takes more than `most` transfers, which are reduced by those that it took.
std::optional<Picoseconds> time_together(const net::Fabric& fabric, const coll::Plan& plan,
                                         std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
                                         uint64_t& most);

/// Choose among candidates with close predictions by simulating them over shared links (fluid): the fastest wins.
/// Predictions ignore contention between rounds of members that do not wait for each other. The chosen candidate
/// stays if it is within kSharedClose of the fastest. Plans for which time_together() would need more than
/// kMostTransfersAlone transfers are not simulated.
void choose_by_running(coll::Choice& choice, const coll::Operation& op, const coll::Place& place);

}  // namespace chakra::sim
