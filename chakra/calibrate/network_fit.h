// Fits of the times of one operation, for collectives of one node and across nodes. Inside calibrate.
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

inline constexpr size_t kMostSizes = 256;  ///< of one number of ranks that are looked at

/// Name the sizes whose time differs by a factor of more than 1.5 from all lines through adjacent sizes, and leave them
/// out. If there are more than kMostSizes sizes, keep them: the fit then uses medians. Cost: O(samples).
std::vector<CollectiveSample> without_outlying(const std::vector<CollectiveSample>& samples, Findings& findings);

/// Return the samples, ascending by size; of many samples, only a few hundred are used.
SizedTimes sizes_of(net::Members members, bool across, const std::vector<const CollectiveSample*>& samples);

/// Fit the protocols of an operation, and find the error on held-out sizes. Across nodes: one
/// number of members; `step` and `wire` stay 0, and `node_step` and `rail` are fitted instead.
FittedOperation fit_operation(const std::vector<SizedTimes>& all, const net::CollectiveForm& form);

/// Set the fit's corrections to the residuals of the protocols, if there are any.
void set_corrections(const std::vector<SizedTimes>& all, net::CollectiveFit& fit);

double gib_per_s(double ns_per_byte);  ///< 0 for 0

/// NCCL's time of a step between nodes, for the Simple protocol.
inline constexpr double kNodeStepNs = 14000;

/// Operations across nodes, and the rates of messages between nodes.
struct FittedAcross {
  std::vector<FittedOperation> operations;
  double rail_gib_per_s = 0;     ///< rate from one member to all peers together; 0: unknown
  double message_gib_per_s = 0;  ///< rate of a message to one peer
  bool several_peers = false;    ///< measured with several peers of a member on other nodes: the rail is determined
};
/// Fit the measurements across nodes. Compose operations that were measured on one node alone from parts: the time
/// inside a node as measured, between nodes the rail's rate and NCCL's own times of a step. Cost: O(samples^2).
FittedAcross fit_across(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node);

/// Fill FittedNetwork::judged and its table from NetworkOptions::judge.
Result<void> judge_on_files(const NetworkOptions& options, const std::vector<CollectiveSample>& fitted_to,
                            FittedNetwork& fitted);

/// Return the error of measurements across nodes with more members per node, predicted from the fewest members
/// and from the operations of one node; no points if only one number was measured. Messages count as operations.
FitError judge_scale(const std::vector<CollectiveSample>& samples, const std::vector<FittedOperation>& one_node);

}  // namespace chakra::calibrate
