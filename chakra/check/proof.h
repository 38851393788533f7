// What is proven about a whole job before it runs: that waits refer to earlier requests (waits.cpp), and that the
// ranks cannot wait for each other in a circle (deadlock.cpp). Inside check.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "chakra/check/check.h"

namespace chakra::check {

/// Which of the pairs (from, to) of nodes are joined by dependencies: `to` waits for `from`, through others perhaps.
/// `order`: trace::topological_order, complete. Pairs that would cost more than some times the size of the trace
/// get `otherwise`. Cost: O(nodes + edges) for each 64 pairs, less where from and to are near each other.
std::vector<bool> joined(const trace::Trace& trace, std::span<const trace::NodeId> order,
                         std::span<const std::pair<trace::NodeId, trace::NodeId>> pairs, bool otherwise);

/// Per rank: its communication in an order in which it can run.
using Communication = std::vector<std::vector<trace::NodeId>>;
/// Whether it works even if each rank runs one node after the other, in that order, always the lowest row that is
/// ready: all rules hold then, so there is no circle. Cost: O(communication).
bool runs_one_by_one(const trace::TraceSet& job, const match::Matching& matching, const Communication& comms);

/// The facts of a communication node: group and index, or sender, receiver, message_tag and index; else none.
std::vector<Fact> facts_of(const trace::TraceSet& job, const match::Matching& matching, trace::RankIndex rank,
                           trace::NodeId node);

}  // namespace chakra::check
