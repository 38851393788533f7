// A job run for real: what `chakra replay` does, as a call.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/timing.h"
#include "chakra/options/options.h"
#include "chakra/replay/replay.h"
#include "chakra/result/result.h"
#include "chakra/view/view.h"

namespace chakra::job {

/// Which part of a trace runs; what is empty or -1 leaves nothing out. Docs: docs/reference/replay.md.
struct ReplaySelection {
  std::string steps;               ///< "N" or "FIRST:COUNT", of the numbers in ProfilerStep#N
  std::string subgraph;            ///< nodes of this name, and all that they call
  std::vector<std::string> types;  ///< of communication: "all_reduce", "send", in any form of the name
  std::vector<std::string> groups;
  int64_t min_bytes = -1, max_bytes = -1;  ///< comm_size

  bool any() const {
    return !steps.empty() || !subgraph.empty() || !types.empty() || !groups.empty() || min_bytes >= 0 || max_bytes >= 0;
  }
};
/// Per node whether it runs. Errors: cli.usage for a step or a name that the trace lacks, and unknown types.
Result<std::vector<bool>> select_nodes(const trace::Trace& trace, const ReplaySelection& selection);

/// Whether ranks begin as far apart as recorded, or together.
enum class ReplayStart : uint8_t { recorded, together };
inline constexpr std::array<std::string_view, 2> kReplayStarts{"recorded", "together"};

/// Files and numbers; rows_of() has a sentence on each member. Only path is needed.
struct ReplayOptions {
  std::string path;  ///< the job: a prefix, a folder, a container, one trace, or a ranks.json
  std::string groups;
  std::string backend = "null";
  std::vector<std::string> settings;  ///< KEY=VALUE
  std::string compute = "sleep";
  std::vector<std::string> compute_settings;  ///< KEY=VALUE
  double scale_compute = 1;
  std::string files;                    ///< folder for files of loads and stores; empty: none
  std::string file_cache = "cached";    ///< of replay::kFileCaches
  std::string file_order = "in-order";  ///< of replay::kFileOrders
  ReplayStart start = ReplayStart::recorded;
  int64_t warmup = 0, repetitions = 1;
  double timeout_s = 8;
  std::optional<int64_t> rank, ranks;  ///< this process is one rank; none: what the launcher says, else all
  std::string rendezvous;
  int64_t shrink = 0;        ///< the first N ranks run; 0: all
  bool auto_shrink = false;  ///< the first ones run: as many as `ranks` or the launcher says
  int64_t expand = 0;        ///< N ranks run what fewer were recorded to do; 0: those
  ReplaySelection selection;
  bool verify = false;  ///< compare what every operation leaves with what it promises
  bool dry_run = false;
  bool no_check = false;
  bool compare = false;   ///< fill ReplayedJob::compared
  bool timeline = false;  ///< not an option of its own: fill ReplayedJob::timeline
};
options::Options rows_of(ReplayOptions& options);

struct ReplayedJob {
  std::string path, backend, compute;
  int64_t ranks = 0;           ///< of the job that ran
  int64_t recorded_ranks = 0;  ///< of the job that was read
  int64_t repetitions = 1;
  bool as_recorded = false;                 ///< the ranks began as far apart as recorded; else together
  bool dry = false;                         ///< nothing ran
  match::GroupTable groups;                 ///< of --groups, as the ranks that run have them
  trace::TraceSet recorded;                 ///< the ranks that this process ran, with their recorded times
  std::vector<replay::RankPlan> plans;      ///< parallel; they refer to the job that was read
  std::vector<replay::RankRun> runs;        ///< parallel; none of a dry run
  std::vector<std::vector<bool>> selected;  ///< parallel; empty: all nodes
  std::vector<std::vector<bool>> changed;   ///< parallel: communication with other ranks than recorded; empty: none
  std::vector<replay::WorkDone> asked;      ///< of a dry run with --compute work: parallel; else empty
  result::Timeline timeline;
  std::optional<TimesCompared> compared;  ///< with the recorded times
  Findings findings;

  bool ran(size_t r, trace::NodeId n) const { return selected.empty() || selected[r].empty() || selected[r][n]; }
};

/// Which ranks this process runs.
struct ReplayProcess {
  std::optional<int64_t> rank;  ///< none: all of them
  int64_t ranks = 1;            ///< with `rank`: of the job
  bool launched = false;        ///< a launcher says so, which gives all processes the same arguments
};
/// Errors: cli.usage for `rank` and `ranks` that do not go together, replay.world.launcher.
Result<ReplayProcess> replay_process(const ReplayOptions& options);

/// Reads, proves and runs a job, or with `rank` (or under a launcher) this rank of it. Errors: cli.usage for options
/// that do not go together, those of reading, edit::shrink, edit::replicate, check::prove, match::load_groups,
/// replay::plan_rank, replay::run_one and replay::run_all.
Result<ReplayedJob> replay_job(const ReplayOptions& options);

/// Which rank sends how much to which, after what: nothing runs. Docs: docs/reference/replay.md, Flows.
struct FlowsOptions {
  std::string network;      ///< for which algorithms are chosen; empty: one switch
  std::string collectives;  ///< rules, or a file with them
};
options::Options rows_of(FlowsOptions& options);
/// Errors: those of replay_job() before it runs, of net::load_fabric, coll::parse_selection and replay::flows_of;
/// cli.usage for a single rank.
Result<replay::FlowSchedule> job_flows(const ReplayOptions& options, const FlowsOptions& flows);

/// The ranks that ran, with the times of a repetition instead of the recorded ones; by one clock. Nodes that were not
/// selected have none. Cost: O(nodes).
trace::TraceSet replayed_traces(const ReplayedJob& job, size_t repetition);

/// From the first start to the last end of what ran of a rank. Cost: O(nodes).
Picoseconds replay_span(const ReplayedJob& job, size_t r, const replay::NodeTimes& times);

/// What ran, how long it took, operations by type and size, findings.
view::Text text_of(const ReplayedJob& job);
answer::Answer answer_of(const ReplayedJob& job);
// Inside job: parts of these.
/// Of the operators that ran (--compute torch): a row per rank, and findings.
void add_computed(const ReplayedJob& job, answer::Builder& to);
void add_computed_findings(ReplayedJob& job);
/// Work that was done (--compute work): a row per rank; loads and stores in files (--files): one per rank and tier.
result::Table work_table(const ReplayedJob& job);
result::Table files_table(const ReplayedJob& job);
void add_work_findings(const ReplayOptions& options, ReplayedJob& job);

}  // namespace chakra::job
