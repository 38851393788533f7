// The work list of a fleet, and the run of its tasks. Inside fleet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/fleet/fleet.h"
#include "chakra/fleet/journals.h"
#include "chakra/recording/recording.h"

namespace chakra::fleet {

/// Places below the output folder.
struct FleetPaths {
  explicit FleetPaths(std::string output) : output_(std::move(output)) {}
  std::string state() const { return below(".fleet"); }
  std::string work_list() const { return below(".fleet/work.jsonl"); }
  /// Files between the phases of a job; removed when the job is finished.
  std::string between(const FleetJob& job) const {
    return below(".fleet/between/" + job.name + "-" + job.key.substr(0, 16));
  }
  std::string traces(const FleetJob& job) const { return below("jobs/" + job.name); }
  std::string answer(const FleetJob& job) const { return below("answers/" + job.name + ".json"); }

 private:
  std::string output_;
  std::string below(const std::string& path) const;
};

/// Return the absolute path without "..", links unchanged.
std::string absolute_path(const std::string& path);
/// Leave out other paths of the same jobs. Jobs that have a name in common get different names of outputs. Sorts the
/// jobs by path.
void name_jobs(WorkList& work);
/// Return a digest of this version, the options, and the paths, sizes and times of files. Unreadable files have no
/// size: their tasks fail.
std::string key_of_files(std::string_view options, const std::vector<std::string>& files);

/// Errors: base.file.*.
Result<void> write_work(const WorkList& work, const std::string& path);
/// Errors: those of read_file; fleet.work for a file that is not a work list.
Result<WorkList> read_work(const std::string& path);

/// Tasks of a phase begin when all tasks of earlier phases of the job are done.
struct FleetTask {
  size_t job = 0;
  uint8_t phase = 0;
  size_t number = 0;    ///< of the task in the phase
  std::string key;      ///< in journals
  uint64_t memory = 0;  ///< bytes, estimated
};
struct TaskDone {
  std::map<std::string, std::string> values = {};  ///< for the report
  std::string remove = {};                         ///< folder that no task needs any more
};
/// Do a task. A task that is done again must give the same files.
using RunTask = std::function<Result<TaskDone>(const FleetJob& job, const FleetTask& task)>;
using TasksOf = std::function<std::vector<FleetTask>(const FleetJob& job, size_t index)>;

inline constexpr int64_t kMostAttempts = 5;

/// Run the tasks of a shard that are not finished, on all cores, as long as they fit into memory together. Errors:
/// base.file.* of journals; job.interrupted.
Result<void> run_tasks(const WorkList& work, const TasksOf& tasks_of, const RunTask& run, const FleetOptions& options,
                       Journals& journals);

/// Return the state of each job.
std::vector<FleetJobState> states_of(const WorkList& work, const TasksOf& tasks_of, const Journals& journals);

}  // namespace chakra::fleet
