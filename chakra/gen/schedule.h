// Pipeline schedules: the order of the passes of micro-batches on each stage. Times
// follow from the graph. docs/reference/schedules.md has figures, formulas and sources.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::gen {

/// The work of a stage on a micro-batch. `backward` is both gradients at once, the input gradient first.
enum class Pass : uint8_t { forward, backward, input_gradient, weight_gradient };
inline constexpr std::array<std::string_view, 4> kPassNames{"forward", "backward", "input_gradient", "weight_gradient"};
inline std::string_view name(Pass pass) { return kPassNames[static_cast<size_t>(pass)]; }
/// The work after all passes: sums of gradients over a step, and the optimizer.
inline constexpr std::string_view kUpdate = "update";

struct Task {
  Pass pass = Pass::forward;
  int64_t micro_batch = 0;
  int64_t chunk = 0;  ///< index of one of the stage's pieces of the model
  /// The second task of a pair (DualPipe: a backward, after the forward of another chunk). A pair begins
  /// when both tasks have their inputs: the first node of the forward also waits for the gradient that
  /// the backward takes in. Without that rule stages idle less than the formula predicts (half as long
  /// if t_f = t_b = t_w). A machine may overlap the two tasks, otherwise both run in this order.
  bool with_previous = false;
};

struct Pipeline {
  int64_t stages = 1;
  int64_t chunks = 1;  ///< of a stage; see ScheduleRow::chunks
  int64_t micro_batches = 1;
};

/// Times of the passes of one chunk, in any unit; all chunks of all stages take the same time.
struct PassTimes {
  double forward = 0, input_gradient = 0, weight_gradient = 0;  ///< t_f, t_b, t_w
  double pair = 0;  ///< t_fb, of an overlapped forward and whole backward; t_f + t_b + t_w without overlap
};

struct ScheduleRow {
  std::string_view name, description;
  std::string_view idle_formula;  ///< the formula of ideal_idle(), with p stages and m micro-batches
  int64_t chunks = 1;             ///< of a stage; 0: any number from 2 on
  int64_t copies = 1;             ///< number of stages that hold each piece of the model
  /// Return why the schedule cannot run with these numbers, as a sentence
  /// without full stop; empty: it can. Requires that no number is below 1.
  std::string (*refuse)(const Pipeline&);
  /// Return the tasks of a stage, in order. The micro-batches of a chunk ascend in each pass, so messages between
  /// neighbours for a chunk are in order. Requires: refuse() returns an empty string; a stage of the pipeline.
  std::vector<Task> (*tasks)(const Pipeline&, int64_t stage);
  /// Return the piece of the model (0: the first layers) in a chunk of a stage. Neighbouring pieces
  /// of a micro-batch are on neighbouring stages; interleaved, also on the last and the first.
  int64_t (*piece)(const Pipeline&, int64_t stage, int64_t chunk);
  /// Return the idle time of each stage, from the beginning of the first task to the end of the last
  /// task of all stages, if communication takes no time. Exact for all times with t_fb >= max(t_f,
  /// t_b + t_w). DualPipe with overlap: of the stages that idle most; other stages have more pairs.
  double (*ideal_idle)(const Pipeline&, const PassTimes&);
};
std::span<const ScheduleRow> schedules();
/// Return the row of this name, or null.
const ScheduleRow* find_schedule(std::string_view name);

/// Return the number of pieces of the model.
int64_t pieces(const ScheduleRow& schedule, const Pipeline& pipeline);

/// Return the largest number of chunks' micro-batches in flight on a stage. A micro-batch is in flight from its forward
/// to the end of its backward, or of its weight gradient. With v chunks, v of them are one of the stage. O(tasks).
int64_t in_flight(std::span<const Task> tasks);

}  // namespace chakra::gen
