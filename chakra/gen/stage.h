// The trace of one pipeline stage of a training step, as the ranks of a place of ep run it (Plan::places).
#pragma once

#include <utility>
#include <vector>

#include "chakra/gen/plan.h"

namespace chakra::gen {

struct StageTrace {
  trace::Trace trace;
  /// Which neighbour is in each peer slot: an axis, and the steps along it.
  std::vector<std::pair<Axis, int64_t>> peers;
};

/// Errors: gen.step.large.
Result<StageTrace> build_stage(const Plan& plan, int64_t stage, int64_t place);

}  // namespace chakra::gen
