// Parts of a report that are derived from a simulation: the critical path by kind, and the reliability of predictions.
// Inside report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/gen/gen.h"
#include "chakra/sim/sim.h"

namespace chakra::report {

/// Pieces of the critical path of one kind, and of one operation if the kind is a collective.
struct PathPart {
  std::string kind, operation;
  int64_t pieces = 0;
  Picoseconds time_ps = 0;
  double share = 0;  ///< of the makespan
};
/// The longest first. The times add up to the makespan.
std::vector<PathPart> path_parts(const sim::SimReport& report);

/// The change of a part of the critical path from one simulation to another.
struct PathChange {
  std::string kind, operation;  ///< kind "step": the makespan
  Picoseconds a_ps = 0, b_ps = 0;
  Picoseconds change_ps = 0;  ///< b_ps - a_ps
  double share = 0;           ///< change_ps by the makespan of a
};
/// The step, and then the parts, the largest change first. The changes of the parts add up to that of the step.
std::vector<PathChange> path_changes(std::span<const PathPart> a, std::span<const PathPart> b);

/// The reliability of a predicted time.
struct Reliability {
  std::string what;                    ///< the prediction
  std::optional<Picoseconds> time_ps;  ///< the predicted time; nullopt: not added up
  std::optional<double> error;         ///< relative error; nullopt: not known
  std::string basis;                   ///< source of the prediction and of the error
};
/// Return a row for each source of predicted times. `answer`: of the simulation.
std::vector<Reliability> reliability_of(const answer::Answer& answer, const sim::SimReport& report);

/// What is predicted for a simulated job, beside the answer of the simulation.
struct Predicted {
  std::vector<PathPart> path;
  std::vector<Reliability> reliability;
  std::vector<gen::ClassStats> memory;  ///< of generated jobs by classes
  sim::LoadsOverTime link_loads;
  std::string link_loads_are;  ///< the meaning and the error of the loads; "": no loads
};
/// Return the tables path_parts, reliability, memory_by_class and link_loads.
answer::Answer answer_of(const Predicted& predicted);
/// Add the table `differences`.
void add_differences(const std::vector<PathChange>& differences, answer::Builder& to);

}  // namespace chakra::report
