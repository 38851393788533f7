// Fitting the times of one operation: inside a room, shared by collectives of one node and those across nodes.
#pragma once

#include <vector>

#include "chakra/calibrate/least_squares.h"

namespace chakra::calibrate {

/// The times among one number of members, ascending by size.
struct SizedTimes {
  net::Members members;
  bool across = false;  ///< members of several nodes
  std::vector<double> bytes, ns;

  size_t count() const { return bytes.size(); }
  net::FitQuery query() const {
    return {0, static_cast<int64_t>(members.per_node), static_cast<int64_t>(members.nodes), across};
  }
};

/// The samples, ascending by size, of which a few hundred at most are looked at.
SizedTimes sizes_of(net::Members members, bool across, const std::vector<const CollectiveSample*>& samples);

/// The protocols of an operation, and how far off they are on sizes that are kept out. Across nodes: one number of
/// members, of which `step` and `wire` stay 0 and `node_step` and `rail` are fitted in their place.
FittedOperation fit_operation(const std::vector<SizedTimes>& all, const net::CollectiveForm& form);

/// What the protocols leave of the times, if that is anything, as the fit's corrections.
void set_corrections(const std::vector<SizedTimes>& all, net::CollectiveFit& fit);

double gib_per_s(double ns_per_byte);  ///< 0 for 0

/// What NCCL takes for a step between nodes of its Simple protocol.
inline constexpr double kNodeStepNs = 14000;

/// Operations across nodes, and what messages between nodes take.
struct FittedAcross {
  std::vector<FittedOperation> operations;
  double rail_gib_per_s = 0;     ///< what all peers together get of one member; 0: nothing says it
  double message_gib_per_s = 0;  ///< what one peer gets of a message
  bool several_peers = false;    ///< measured where a member has several peers on other nodes: the rail is determined
};
/// Fits what was measured across nodes, and puts the operations that were measured on one node alone together from the
/// parts: inside a node as there, between nodes the rail's rate and NCCL's own times of a step. Cost: O(samples^2).
FittedAcross fit_across(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node);

/// Fills FittedNetwork::judged and its table from NetworkOptions::judge.
Result<void> judge_on_files(const NetworkOptions& options, const std::vector<CollectiveSample>& fitted_to,
                            FittedNetwork& fitted);

/// How far off it is to predict what was measured across nodes with more members a node from the fewest, and the
/// operations of one node; no points where only one number was measured. Messages count as operations.
FitError judge_scale(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node);

}  // namespace chakra::calibrate
