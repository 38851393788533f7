// The flows of a job, for hardware testers and traffic generators: which rank sends how much to which, and after what.
// They come from the plans of collectives (room coll), the same that the simulator prices. Nothing is sent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/match/match.h"
#include "chakra/net/net.h"
#include "chakra/replay/plan.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

/// A collective or a message; its flows are one block.
struct FlowOperation {
  trace::CommType type = trace::CommType::unknown;
  std::string group;   ///< "" of a message
  uint64_t index = 0;  ///< among those of its group, or of its pair and tag
  bool is_message = false;
  std::string algorithm;    ///< "" of a message
  uint32_t first_flow = 0;  ///< into FlowSchedule::flows; up to that of the next operation
};

struct Flow {
  uint32_t operation = 0;  ///< into FlowSchedule::operations
  uint32_t round = 0;      ///< of the plan
  int64_t source = 0, destination = 0;
  uint64_t bytes = 0;
  /// It may leave when these flows of its operation have left or arrived at its source, ascending; and ...
  std::vector<uint32_t> after_flows;
  /// ... of a flow that is the first of its source in the operation: when these operations have ended at its source,
  /// and each `delay_ps` later at the earliest, which is the computation in between.
  std::vector<std::pair<uint32_t, Picoseconds>> after_operations;
};

struct FlowSchedule {
  std::vector<FlowOperation> operations;  ///< each behind those for which it waits
  std::vector<Flow> flows;
};

inline constexpr size_t kMostFlows = 20'000'000;

/// `plans`: of all ranks, parallel to the job. Requires Matching of that job. `scale_compute`: factor of durations.
/// `selected`: as JobOptions::selected. Errors: replay.flows.missing (a collective or message without one of its
/// members), replay.flows.large (more than kMostFlows). Cost: O(nodes + edges + flows), and a plan for each operation.
Result<FlowSchedule> flows_of(const std::vector<RankPlan>& plans, const match::Matching& matching,
                              const coll::Selection& selection, const net::Fabric& fabric, double scale_compute,
                              const std::vector<std::vector<bool>>& selected);

/// A row for each flow; docs/reference/replay.md has the columns.
result::Table table_of(const FlowSchedule& schedule);

}  // namespace chakra::replay
