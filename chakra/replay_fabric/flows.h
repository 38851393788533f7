// The flows of a job for hardware testers and traffic generators: source, destination, bytes and dependencies.
// The flows come from the plans of collectives (room coll), which the simulator also prices. No data is sent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/replay/replay.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::replay_fabric {

/// A collective or a message; its flows are consecutive.
struct FlowOperation {
  trace::CommType type = trace::CommType::unknown;
  std::string group;   ///< "" for messages
  uint64_t index = 0;  ///< position in the group, or among messages of the pair and tag
  bool is_message = false;
  std::string algorithm;    ///< "" for messages
  uint32_t first_flow = 0;  ///< into FlowSchedule::flows; ends at first_flow of the next operation
};

struct Flow {
  uint32_t operation = 0;  ///< into FlowSchedule::operations
  uint32_t round = 0;      ///< of the plan
  int64_t source = 0, destination = 0;
  uint64_t bytes = 0;
  /// The flow may leave when these flows of its operation have left or arrived at its source (ascending).
  std::vector<uint32_t> after_flows;
  /// For the first flow of its source in the operation, in addition: these operations must have ended
  /// at the source, and the time after them, the computation in between, must have passed.
  std::vector<std::pair<uint32_t, Picoseconds>> after_operations;
};

struct FlowSchedule {
  std::vector<FlowOperation> operations;  ///< in dependency order
  std::vector<Flow> flows;
};

inline constexpr size_t kMostFlows = 20'000'000;

/// `plans`: of all ranks, parallel to the job. Requires Matching of that job. `scale_compute`: factor for
/// durations. `selected`: as JobOptions::selected. Errors: replay.flows.missing (a member lacks a collective or
/// message), replay.flows.large (more than kMostFlows). Cost: O(nodes + edges + flows), and one plan per operation.
Result<FlowSchedule> flows_of(const std::vector<replay::RankPlan>& plans, const match::Matching& matching,
                              const coll::Selection& selection, const net::Fabric& fabric, double scale_compute,
                              const std::vector<std::vector<bool>>& selected);

/// Return one row per flow; docs/reference/replay.md lists the columns.
result::Table table_of(const FlowSchedule& schedule);

}  // namespace chakra::replay_fabric
