// The trace of one pipeline stage of a training step, for the ranks of a place of ep (Plan::places).
#pragma once

#include <vector>

#include "chakra/gen/nodes.h"
#include "chakra/gen/plan.h"

namespace chakra::gen {

struct StageTrace {
  trace::Trace trace;
  std::vector<Neighbour> peers;  ///< the neighbour in each peer slot
};

/// Build the trace of a stage. Errors: gen.step.large.
Result<StageTrace> build_stage(const Plan& plan, int64_t stage, int64_t place);

}  // namespace chakra::gen
