// Pipeline schedules: which pass of which micro-batch a stage does when. Only the order is here; times follow from
// the graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::gen {

/// What a stage does with a micro-batch. `backward` is both gradients at once.
enum class Pass : uint8_t { forward, backward, input_gradient, weight_gradient };

struct Task {
  Pass pass = Pass::forward;
  int64_t micro_batch = 0;
  int64_t chunk = 0;           ///< which of the stage's pieces of the model
  bool with_previous = false;  ///< may run at the same time as the task before (DualPipe's overlapped pair)
};

struct Pipeline {
  int64_t stages = 1;
  int64_t chunks = 1;  ///< of a stage (interleaved: v; DualPipe: 2)
  int64_t micro_batches = 1;
};

struct ScheduleRow {
  std::string_view name, description;
  /// Why the schedule cannot run with these numbers; empty: it can.
  std::string (*refuse)(const Pipeline&);
  /// The tasks of a stage, in order.
  std::vector<Task> (*tasks)(const Pipeline&, int64_t stage);
  /// Which piece of the model (0: the first layers) is a chunk of a stage. For DualPipe two stages have the same piece.
  int64_t (*piece)(const Pipeline&, int64_t stage, int64_t chunk);
};
std::span<const ScheduleRow> schedules();

}  // namespace chakra::gen
