// `chakra replay` as a call: run a job for real.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/parts.h"
#include "chakra/options/options.h"
#include "chakra/recorded/recorded.h"
#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/replay_fabric.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::run {

/// Start of ranks: with the recorded offsets, or together.
enum class ReplayStart : uint8_t { recorded, together };
inline constexpr std::array<std::string_view, 2> kReplayStarts{"recorded", "together"};

/// Files that the caller writes. Empty: no file. In each name, {rank} stands for the rank of this process.
struct ReplayOutputs {
  std::string traces = {};  ///< prefix: PREFIX.<rank>.et with the times of the last repetition
  std::string timeline = {};
  job::TableFiles tables = {};  ///< not a separate option
  std::string json = {};        ///< not a separate option. "-": the caller prints the JSON
};
/// Message volumes between ranks, with dependencies, instead of a run. Docs: docs/reference/replay.md, Flows.
struct FlowsOptions {
  std::string file;         ///< that the caller writes
  std::string network;      ///< network for the selection of algorithms; empty: one switch
  std::string collectives;  ///< rules, or a file of rules
};

/// Files and numbers; rows_of() describes each member. Only path is required.
struct ReplayOptions {
  std::string path;  ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string groups;
  std::string backend = "null";
  std::vector<std::string> settings;  ///< KEY=VALUE
  std::string compute = "sleep";
  std::vector<std::string> compute_settings;  ///< KEY=VALUE
  double scale_compute = 1;
  std::string files;                    ///< folder for files of loads and stores; empty: no files
  std::string file_cache = "cached";    ///< of replay::kFileCaches
  std::string file_order = "in-order";  ///< of replay::kFileOrders
  ReplayStart start = ReplayStart::recorded;
  int64_t warmup = 0, repetitions = 1;
  double timeout_s = 8;
  std::optional<int64_t> rank, ranks;  ///< this process is one rank; nullopt: from the launcher, else all ranks
  std::string rendezvous;
  int64_t shrink = 0;        ///< run the first N ranks; 0: all
  bool auto_shrink = false;  ///< run the first ranks: as many as in `ranks` or from the launcher
  int64_t expand = 0;        ///< run N ranks with the work of fewer recorded ranks; 0: the recorded ranks
  replay::Selection selection;
  bool verify = false;  ///< compare the result of every operation with the expected result
  bool dry_run = false;
  bool no_check = false;
  bool compare = false;   ///< fill ReplayedJob::compared
  ReplayOutputs outputs;  ///< a timeline: fill ReplayedJob::timeline
  FlowsOptions flows;     ///< for job_flows()
};
options::Options rows_of(ReplayOptions& options);

struct ReplayedJob {
  std::string path, backend, compute;
  int64_t ranks = 0;           ///< of the executed job
  int64_t recorded_ranks = 0;  ///< of the recorded job
  int64_t repetitions = 1;
  bool as_recorded = false;                 ///< the ranks started with the recorded offsets; else together
  bool dry = false;                         ///< no operation ran
  match::GroupTable groups;                 ///< from --groups, for the executed ranks
  trace::TraceSet recorded;                 ///< the ranks of this process, with recorded times
  std::vector<replay::RankPlan> plans;      ///< parallel; refer to the recorded job
  std::vector<replay::RankRun> runs;        ///< parallel; empty for a dry run
  std::vector<std::vector<bool>> selected;  ///< parallel; empty: all nodes
  std::vector<std::vector<bool>> changed;   ///< parallel: communication with other ranks than recorded; empty: no node
  std::vector<replay::WorkDone> asked;      ///< of a dry run with --compute work: parallel; else empty
  result::Timeline timeline;
  std::optional<recorded::TimesCompared> compared;  ///< with the recorded times
  Findings findings;

  bool ran(size_t r, trace::NodeId n) const { return selected.empty() || selected[r].empty() || selected[r][n]; }
};

/// Ranks of this process.
struct ReplayProcess {
  std::optional<int64_t> rank;  ///< nullopt: all ranks
  int64_t ranks = 1;            ///< with `rank`: ranks of the job
  bool launched = false;        ///< determined by a launcher, which passes the same arguments to all processes
};
/// Determine the ranks of this process. Errors: cli.usage for conflicting `rank` and `ranks`, replay.world.launcher.
Result<ReplayProcess> replay_process(const ReplayOptions& options);

/// Read, prove and run a job, or (with `rank`, or under a launcher) one rank of the job. Errors: cli.usage for options
/// that do not go together; as for reading, edit::shrink, edit::replicate, check::prove, match::load_groups,
/// replay::plan_rank, replay::run_one and replay::run_all.
Result<ReplayedJob> replay_job(const ReplayOptions& options);

/// Compute the flows. Errors: as for replay_job() before the run, net::load_fabric, coll::parse_selection and
/// replay_fabric::flows_of; cli.usage for a single rank.
Result<replay_fabric::FlowSchedule> job_flows(const ReplayOptions& options);

/// Return the executed ranks with the times of a repetition instead of recorded times, on one clock. Unselected nodes
/// have no times. Cost: O(nodes).
trace::TraceSet replayed_traces(const ReplayedJob& job, size_t repetition);

/// Return the time from the first start to the last end of the executed nodes of a rank. Cost: O(nodes).
Picoseconds replay_span(const ReplayedJob& job, size_t r, const replay::NodeTimes& times);

/// Return the text: the run, its duration, operations by type and size, findings.
view::Text text_of(const ReplayedJob& job);
answer::Answer answer_of(const ReplayedJob& job);
// Parts of answer_of(), inside run.
/// Add the operators that ran (--compute torch): a row per rank, and findings.
void add_computed(const ReplayedJob& job, answer::Builder& to);
void add_computed_findings(ReplayedJob& job);
/// For executed work (--compute work): a row per rank; loads and stores in files (--files): a row per rank and tier.
result::Table work_table(const ReplayedJob& job);
result::Table files_table(const ReplayedJob& job);
void add_work_findings(const ReplayOptions& options, ReplayedJob& job);

}  // namespace chakra::run
