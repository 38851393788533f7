// A collective alone on a network whose links its own transfers share.
#pragma once

#include <span>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/net/net.h"
#include "chakra/sim/traffic.h"

namespace chakra::sim {

/// On shared links, times that differ by less than this factor count as equal: fewer flows cost less to follow.
inline constexpr double kSharedClose = 1.03;

/// When the last member has finished, if all begin at 0. Requires fluid or packet. Cost: that of Traffic.
Picoseconds time_alone(const net::Fabric& fabric, Congestion congestion, const coll::Plan& plan,
                       std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow);

/// Prices leave out that rounds of members that do not wait for each other meet. Where several candidates are predicted
/// to take about as long, runs them over shared links (fluid) and takes the fastest; the one that was chosen stays if
/// it is within kSharedClose of that. Plans of more than 2^14 transfers are not run.
void choose_by_running(coll::Choice& choice, const coll::Operation& op, const coll::Place& place);

}  // namespace chakra::sim
