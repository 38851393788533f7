// Trace -> Trace: show the number of pipeline stages by the cells of a grid. The last stages stay. They take over the
// time of the removed ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/edit/grid.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// What a rank shows about its place in a pipeline.
struct StageView {
  int64_t rank = 0;
  std::optional<int64_t> stage;  ///< that the trace states
  std::string schedule;          ///< likewise; empty: unknown
  struct Messages {
    int64_t sent = 0, received = 0;
    int64_t steps = 0;  ///< of a first stage: how often the pipeline fills
    std::set<int64_t> tags;
  };
  std::map<int64_t, Messages> peers;  ///< by rank, or by slot of a class
  bool sends_first = false;           ///< the first message
  Picoseconds busy = 0;               ///< computations of the passes, if they were not measured
  Picoseconds span = 0;               ///< from the first measured start to the last measured end
  /// A group whose collectives exchange parts of buffers, so that no member can be removed.
  struct Parts {
    bool is_all = false;  ///< all ranks
    std::vector<int64_t> members;
    std::string node;  ///< the first collective, as a text
  };
  std::vector<Parts> parts;
};
/// Cost: O(nodes).
StageView stage_view(const trace::Trace& trace);

/// The stages of a job whose ranks are known.
struct Pipeline {
  int64_t stages = 1, micro_batches = 0;  ///< micro-batches of a step
  std::map<int64_t, int64_t> stage_of;    ///< by rank
  std::vector<Picoseconds> busy;          ///< by stage: of the rank that computes longest
  Picoseconds span = 0;                   ///< of the rank that takes longest, as measured
};
/// The reasons for which the number of stages of a job stays visible.
inline constexpr std::string_view kStagesVisible = "edit.stages.visible";
inline constexpr std::string_view kStagesGroup = "edit.stages.group";
/// Find the stages: as the traces state them, else as paths of messages, which begin where the first message is sent.
/// Errors: kStagesVisible (in every stage, the order of passes depends on the number of stages; messages go elsewhere
/// than to the stage before and the stage after; or ranks are missing). Cost: O(ranks + messages).
Result<Pipeline> pipeline_of(std::span<const StageView> ranks);

/// How the stages of a job are shown: the same for all ranks.
struct StageHiding {
  Cell cell;           ///< of the number of stages
  int64_t stages = 1;  ///< of the job
  int64_t micro_batches = 1;
  double stretch = 1;    ///< factor of the times of passes
  Picoseconds span = 0;  ///< Pipeline::span
  struct Place {
    int64_t rank = 0;   ///< in the copy
    int64_t stage = 0;  ///< of the job
  };
  std::map<int64_t, Place> ranks;   ///< those that stay
  std::map<int64_t, int64_t> tags;  ///< of messages, and their numbers in the copy
  int64_t ranks_before = 0;

  /// The stages of the copy: one fewer than the least number of the cell, so that all copies lack the first stage.
  int64_t shown() const;
  int64_t removed() const { return stages - shown(); }
};
/// Requires a cell of numbers above 1, and a pipeline with as many stages as its low end.
StageHiding stage_hiding(const Pipeline& pipeline, const Cell& cell, std::span<const StageView> ranks);
/// Make sure that stages can be removed, by the views of all ranks. Errors: kStagesGroup. Cost: O(members of groups).
Result<void> check_groups(const StageHiding& hiding, std::span<const StageView> ranks);
/// Return the factor for the bytes of communications of passes: the slots of the middle of the cell over those of the
/// copy. It is the same for all jobs of the cell with that number of micro-batches.
double growth(const StageHiding& hiding);

/// Return StageHiding::stretch by the times of a recorded rank of the only stage that stays: with it, the rank alone
/// takes as long as the rank of the job that takes longest: the first stage ends after the last one. 0: the rank has no
/// measured passes. Cost: O(nodes + edges).
double measured_stretch(const trace::Trace& trace, StageHiding hiding);

/// What hiding stages did.
struct HiddenStages {
  int64_t unstretched = 0;  ///< measured ranks or classes whose passes could not stretch
};

/// Keep the last stages. Call it for ranks that stay. With m micro-batches and p stages, a pipeline takes m + p - 1
/// slots, so that passes take longer by the ratio of the slots:
///   - Times: the passes of a recording stretch, from the first message that arrives to the last one that is sent. What
///     was before moves to the front. Durations without a start grow by the ratio. Measured passes of which other
///     numbers of messages arrive than are sent keep their times (HiddenStages::unstretched).
///   - Messages with removed ranks, and collectives of groups with one member left, become metadata, which takes no
///     time.
///   - Removed ranks leave all groups; ranks, stages and tags of messages count up from 0.
/// Nodes keep their order and their number. Errors: kStagesGroup (a group of several stages has parts of buffers
/// for each member). Cost: O(nodes).
Result<trace::Trace> keep_stages(const trace::Trace& trace, const StageHiding& hiding, HiddenStages& hidden);
/// `classes`: the numbers of the classes that stay. Errors: also edit.stages.class (ranks of a class lose other
/// messages).
Result<trace::ClassJob> keep_stages(const trace::ClassJob& job, const StageHiding& hiding, std::vector<size_t>& classes,
                                    HiddenStages& hidden);

}  // namespace chakra::edit
