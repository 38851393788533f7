// Verbs of a fleet: the tasks of each, and the call that all share. Inside fleet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chakra/fleet/work.h"
#include "chakra/options/options.h"

namespace chakra::fleet {

/// Rows that all verbs have.
options::Options fleet_rows(FleetOptions& options, const char* paths_help);
/// Return the number of findings that are warnings or errors.
int64_t warnings_in(const Findings& findings);
std::vector<FleetTask> link_tasks(const FleetJob& job, size_t index);
std::vector<FleetTask> analyze_tasks(const FleetJob& job, size_t index);

/// A verb with its options.
struct FleetVerb {
  std::string name;
  const FleetOptions& options;
  std::string text;  ///< of the other options
  TasksOf tasks_of;
  std::function<Result<WorkList>()> find_work;
  RunTask run;
};
/// Read or write the work list, run the tasks, and report. Errors: as for fleet_link().
Result<FleetReport> run_fleet(const FleetVerb& verb);

}  // namespace chakra::fleet
