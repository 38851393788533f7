// The trace of one pipeline stage of a training step.
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
Result<StageTrace> build_stage(const Plan& plan, int64_t stage);

}  // namespace chakra::gen
