// Pipeline schedules: which pass of which micro-batch a stage does when. Only the order is here; times follow from
// the graph. docs/reference/schedules.md has pictures, formulas and sources.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::gen {

/// What a stage does with a micro-batch. `backward` is both gradients at once, that of the inputs first.
enum class Pass : uint8_t { forward, backward, input_gradient, weight_gradient };
inline constexpr std::array<std::string_view, 4> kPassNames{"forward", "backward", "input_gradient", "weight_gradient"};
inline std::string_view name(Pass pass) { return kPassNames[static_cast<size_t>(pass)]; }
/// What comes after all passes: sums of gradients over a step, and the optimizer.
inline constexpr std::string_view kUpdate = "update";

struct Task {
  Pass pass = Pass::forward;
  int64_t micro_batch = 0;
  int64_t chunk = 0;  ///< which of the stage's pieces of the model
  /// The second of a pair (DualPipe: a backward, after the forward of another chunk). A pair begins when both have
  /// their inputs: the first node of the forward also waits for the gradient that the backward takes in. Without that
  /// stages idle less than the formula says (half as long where t_f = t_b = t_w). A machine may overlap the two,
  /// otherwise they run in this order.
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
  std::string_view idle_formula;  ///< what ideal_idle() computes, with p stages and m micro-batches
  int64_t chunks = 1;             ///< that a stage must have; 0: any number from 2 on
  int64_t copies = 1;             ///< how many stages hold each piece of the model
  /// Why the schedule cannot run with these numbers, as a sentence without full stop; empty: it can. Requires: none
  /// is below 1.
  std::string (*refuse)(const Pipeline&);
  /// The tasks of a stage, in order. The micro-batches of a chunk come in ascending order in each pass, so what
  /// neighbours send each other for a chunk is in order. Requires: refuse() finds nothing; a stage of the pipeline.
  std::vector<Task> (*tasks)(const Pipeline&, int64_t stage);
  /// Which piece of the model (0: the first layers) is a chunk of a stage. Neighbouring pieces of a micro-batch are on
  /// neighbouring stages; interleaved, also on the last and the first.
  int64_t (*piece)(const Pipeline&, int64_t stage, int64_t chunk);
  /// The idle time of each stage, from the beginning of the first task to the end of the last one of all stages, where
  /// communication takes no time. Exact for all times with t_fb >= max(t_f, t_b + t_w). DualPipe with overlap: of the
  /// stages that idle most; others have more pairs.
  double (*ideal_idle)(const Pipeline&, const PassTimes&);
};
std::span<const ScheduleRow> schedules();
/// Null where there is none of this name.
const ScheduleRow* find_schedule(std::string_view name);

/// Into how many pieces the model is cut.
int64_t pieces(const ScheduleRow& schedule, const Pipeline& pipeline);

/// The most micro-batches of chunks in flight at a time, of a stage with these tasks: each from its forward to the end
/// of its backward, or of its weight gradient. With v chunks v of them are a micro-batch of the stage. O(tasks).
int64_t in_flight(std::span<const Task> tasks);

}  // namespace chakra::gen
