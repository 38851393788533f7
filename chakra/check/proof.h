// Proofs about a whole job before the run: waits refer to earlier requests (waits.cpp), and ranks cannot wait for each
// other in a cycle (deadlock.cpp). Inside check.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "chakra/check/check.h"

namespace chakra::check {

/// Return for each pair (from, to) of nodes whether `to` waits for `from`, directly or indirectly. `order`:
/// trace::topological_order, complete. Pairs that would cost more than a few times the size of the trace get
/// `otherwise`. Cost: O(nodes + edges) for each 64 pairs, less if from and to are near each other.
std::vector<bool> joined(const trace::Trace& trace, std::span<const trace::NodeId> order,
                         std::span<const std::pair<trace::NodeId, trace::NodeId>> pairs, bool otherwise);

/// Per rank: the communication in an order that can run.
using Communication = std::vector<std::vector<trace::NodeId>>;
/// Return true if the job completes even when each rank runs one node after the other, in that order, always the lowest
/// ready row. Then all rules hold, and there is no cycle. Cost: O(communication).
bool runs_one_by_one(const trace::TraceSet& job, const match::Matching& matching, const Communication& comms);

/// Return the facts of a communication node: group and index, or sender, receiver, message_tag and index; else empty.
std::vector<Fact> facts_of(const trace::TraceSet& job, const match::Matching& matching, trace::RankIndex rank,
                           trace::NodeId node);

}  // namespace chakra::check
