// The trace of one pipeline stage of a training step.
#pragma once

#include <vector>

#include "chakra/gen/nodes.h"

namespace chakra::gen {

struct StageTrace {
  trace::Trace trace;
  /// Which neighbour is in each peer slot: -1 the stage before, 1 the one after.
  std::vector<int64_t> peers;
};

/// `first_layers` as deal_layers() gives them. Errors: gen.step.large.
Result<StageTrace> build_stage(const StageWork& model, const std::vector<int64_t>& first_layers, int64_t stage);

}  // namespace chakra::gen
