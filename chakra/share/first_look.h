// What a level of hiding must know about a job before it hides anything. Inside share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chakra/edit/edit.h"

namespace chakra::share {

/// Numbers that the owner of the job gives. 0: look_at() estimates the number.
struct Known {
  int64_t width = 0, layers = 0;
};
inline constexpr int64_t kMostKept = 4'000'000;  ///< about 600 MB in generated jobs, and 1 GB in recorded ones
struct FirstLook {
  edit::FleetJob job;                  ///< without sizes
  int64_t stages = 1;                  ///< of the pipeline
  int64_t longest = 0;                 ///< the most layers in a row of a rank
  std::vector<edit::StageView> views;  ///< of the files of all ranks, if layers are counted; of a job by classes none
  /// By rank, with texts, so that ranks need not be read again: up to kMostKept nodes together.
  std::map<int64_t, std::optional<trace::Trace>> traces;
  bool is_priced = false;     ///< durations of a generated job
  bool has_experts = false;   ///< groups of experts
  bool knows_layers = false;  ///< from the owner of the job
};
/// Read a job for level 2; for level 3 with `counts_layers`. Ranks are read side by side. `keeps`: fill in
/// FirstLook::traces. Cost: that of reading, and of edit::layers_of().
Result<FirstLook> look_at(const std::string& path, const Known& known, bool counts_layers, bool keeps = false);
/// Do the same with a job by classes in memory.
FirstLook look_at(const trace::ClassJob& classes, const Known& known, bool counts_layers);

/// Return a job of a fleet, with its sizes. `job`: from look_at().
Result<edit::FleetJob> with_sizes(const std::string& path, edit::FleetJob job);

}  // namespace chakra::share
