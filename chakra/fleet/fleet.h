// `chakra fleet` as calls: link or analyze many jobs, in one process or in many that share the output folder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/fleet/jobs.h"      // IWYU pragma: export
#include "chakra/fleet/journals.h"  // IWYU pragma: export
#include "chakra/job/job.h"
#include "chakra/linking/linking.h"
#include "chakra/options/options.h"

namespace chakra::fleet {

/// Options of all fleets.
struct FleetOptions {
  std::vector<std::string> paths;  ///< jobs, and folders of jobs
  std::string output;              ///< the folder that all processes share
  Shard shard;
  int64_t wait_s = 0;   ///< seconds without progress of other processes after which the call ends
  uint64_t memory = 0;  ///< bytes of tasks that run together, as estimated; 0: 80 % of the free memory
  bool plan = false;    ///< write the work list only
  bool again = false;   ///< run failed tasks, too
};
struct FleetLinkOptions {
  FleetOptions fleet;
  linking::LinkJobOptions link;
  int64_t split = 64;  ///< ranks of the largest job that is one task
};
struct FleetAnalyzeOptions {
  FleetOptions fleet;
  job::AnalyzeOptions analyze;
};
struct FleetMergeOptions {
  std::string output;
};
options::Options rows_of(FleetLinkOptions& options);
options::Options rows_of(FleetAnalyzeOptions& options);
options::Options rows_of(FleetMergeOptions& options);

struct FleetJob {
  std::string name;                         ///< of the outputs
  std::string path;                         ///< absolute
  std::string key;                          ///< digest of the options and the input files
  uint64_t bytes = 0;                       ///< of the input files, unpacked as estimated
  int64_t rank_count = -1;                  ///< below 0: not known before the task
  std::vector<recording::RankInput> ranks;  ///< of a job whose ranks are tasks; else empty
};
/// Jobs, by path.
struct WorkList {
  std::string verb;  ///< "link" or "analyze"
  std::string key;   ///< digest of the arguments
  std::vector<FleetJob> jobs;
  std::vector<std::string> left_out;  ///< folders without a recording, and other files
  int64_t twice = 0;                  ///< left out: other paths of these jobs
};

enum class FleetState : uint8_t { done, failed, open };
inline constexpr std::array<std::string_view, 3> kFleetStates{"done", "failed", "open"};

struct FleetJobState {
  std::string name, path;
  FleetState state = FleetState::open;
  int64_t tasks = 0, tasks_done = 0;
  int64_t wall_us = 0;          ///< of all finished tasks
  std::string task, tag, text;  ///< of the first task with an error
  // Of a finished job:
  std::optional<int64_t> ranks, nodes, measured_ps, warnings;
  std::optional<double> self_check_error;
  std::optional<std::string> diagnosis, place;  ///< the first one
  std::optional<int64_t> cost_ps;
  std::optional<double> share;
};

struct FleetReport {
  std::string verb, output;
  std::vector<FleetJobState> jobs;
  Findings findings;
  int64_t count(FleetState state) const;
};

/// Link recordings of many jobs: jobs/<job>/trace.<rank>.et and answers/<job>.json in the output folder, as `chakra
/// link` writes them. The tasks of `shard` that are not finished run; a job of more than `split` ranks is a task for
/// each rank, one that compares the ranks, one that completes the trace of each rank, and one that checks the job.
/// Journals in <output>/.fleet keep the outcomes. Errors of jobs are in the report. Errors: cli.usage; base.file.*;
/// base.file.busy: another process has this shard; fleet.other: the output has a fleet of other jobs or options;
/// fleet.work; job.interrupted. Memory: tasks begin only as far as their estimates fit into the free memory together.
Result<FleetReport> fleet_link(const FleetLinkOptions& options);
/// Analyze many jobs: answers/<job>.json, as `chakra analyze --json` writes them. A job is one task. Errors: as for
/// fleet_link(), and those of fleet_of().
Result<FleetReport> fleet_analyze(const FleetAnalyzeOptions& options);
/// Report on a fleet without running a task. Errors: base.file.*, fleet.work.
Result<FleetReport> fleet_merge(const FleetMergeOptions& options);
/// Return the text: jobs by state, problems, failures with their reasons, findings.
view::Text text_of(const FleetReport& report);
/// Return the answer. Cost: O(jobs).
answer::Answer answer_of(const FleetReport& report);

}  // namespace chakra::fleet
