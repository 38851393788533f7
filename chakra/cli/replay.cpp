// chakra replay
#include <fmt/core.h>

#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostRepetitions = 1'000'000;

struct ReplayOptions {
  job::ReplayOptions call;
  job::FlowsOptions flows;
  std::string output, timeline, json, csv, flows_file;
  bool no_check = false;
};

/// The traces of the last repetition, the timeline, the tables and the JSON: all of them or none.
Result<void> write_files(const ReplayOptions& o, const job::ReplayedJob& job, const Json& json) {
  FilesTogether<AtomicFile> files;
  if (!o.output.empty()) {
    const trace::TraceSet replayed = job::replayed_traces(job, job.runs[0].times.size() - 1);
    for (const trace::Trace& t : replayed.ranks) {
      CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(fmt::format("{}.{}.et", o.output, t.rank)));
      CHAKRA_TRY(io::write_et(t, file));
      CHAKRA_TRY(files.add(std::move(file)));
    }
  }
  if (!o.csv.empty()) {
    std::vector<AtomicFile> tables;
    CHAKRA_TRY(prepare_csv(tables_of(job), o.csv, tables));
    for (AtomicFile& table : tables) CHAKRA_TRY(files.add(std::move(table)));
  }
  CHAKRA_ASSIGN(std::optional<AtomicFile> json_file, prepare_json(json, o.json));
  if (json_file) CHAKRA_TRY(files.add(std::move(*json_file)));
  if (!o.timeline.empty()) CHAKRA_TRY(view::write_chrome_trace(job.timeline, o.timeline));
  return files.commit();
}

/// In names of files `{rank}` is the number of a rank that is a process. A launcher gives all processes the same names.
Result<void> name_outputs(ReplayOptions& o) {
  constexpr std::string_view kRank = "{rank}";
  CHAKRA_ASSIGN(const job::ReplayProcess process, job::replay_process(o.call));
  struct Output {
    const char* option;
    std::string& name;
    bool has_rank;  ///< without it
  };
  for (const auto& [option, name, has_rank] :
       {Output{"--output", o.output, true}, Output{"--timeline", o.timeline, false}, Output{"--csv", o.csv, false},
        Output{"--json", o.json, false}}) {
    size_t at = name.find(kRank);
    if (at == name.npos && !name.empty() && name != "-" && !has_rank && process.launched && process.ranks > 1)
      return fail(Code::usage, "cli.usage",
                  fmt::format("{} {}: {} ranks would write the same file; put {} into its name", option, quote(name),
                              process.ranks, kRank));
    if (at != name.npos && !process.rank)
      return fail(
          Code::usage, "cli.usage",
          fmt::format("{} {}: this process runs all ranks, so {} stands for none of them", option, quote(name), kRank));
    for (; at != name.npos; at = name.find(kRank, at)) name.replace(at, kRank.size(), std::to_string(*process.rank));
  }
  return {};
}

Result<void> check_outputs(const ReplayOptions& o) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  files.push_back(o.call.groups);
  std::vector<std::string> outputs{o.timeline};
  if (!o.output.empty()) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(o.call.path));
    for (const io::RankFile& rank : ranks) outputs.push_back(fmt::format("{}.{}.et", o.output, rank.rank));
    for (auto rank = static_cast<int64_t>(ranks.size()); rank < o.call.expand; ++rank)
      outputs.push_back(fmt::format("{}.{}.et", o.output, rank));
  }
  if (!o.csv.empty())
    for (const std::string_view name : job::kReplayTables) outputs.push_back(fmt::format("{}.{}.csv", o.csv, name));
  return keep_apart(files, outputs, o.json);
}

/// The schedule of flows instead of a run.
Result<void> write_flows(const ReplayOptions& o) {
  if (!o.output.empty() || !o.timeline.empty() || !o.csv.empty() || !o.json.empty() || o.call.dry_run || o.call.compare)
    return fail(
        Code::usage, "cli.usage",
        "with --flows nothing runs: --output, --timeline, --csv, --json, --compare and --dry-run have no meaning");
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  files.insert(files.end(), {o.call.groups, o.flows.network, o.flows.collectives});
  CHAKRA_TRY(keep_apart(files, {o.flows_file}));
  CHAKRA_ASSIGN(const replay::FlowSchedule schedule, job::job_flows(o.call, o.flows));
  const result::Table table = replay::table_of(schedule);
  const bool as_json = o.flows_file.ends_with(".json");
  CHAKRA_TRY(write_file(o.flows_file, as_json ? to_text(result::to_json(table)) : view::to_csv(table)));
  uint64_t bytes = 0;
  for (const replay::Flow& flow : schedule.flows) bytes = add_bytes(bytes, flow.bytes);
  print(fmt::format(
      "{}: {} flows of {} operations, {}\n", o.flows_file, show_count(static_cast<int64_t>(schedule.flows.size())),
      show_count(static_cast<int64_t>(schedule.operations.size())), show_bytes(static_cast<double>(bytes))));
  return {};
}

Result<void> run_replay(ReplayOptions o) {
  o.call.check = !o.no_check;
  if (!o.flows_file.empty()) return write_flows(o);
  if (!o.flows.network.empty() || !o.flows.collectives.empty())
    return fail(Code::usage, "cli.usage", "--network and --collectives are for --flows");
  if (o.call.dry_run && (!o.output.empty() || !o.timeline.empty() || o.call.compare))
    return fail(Code::usage, "cli.usage",
                "--dry-run runs nothing, so there is nothing for --output, --timeline and --compare");
  CHAKRA_TRY(name_outputs(o));
  CHAKRA_TRY(check_outputs(o));
  o.call.timeline = !o.timeline.empty();
  CHAKRA_ASSIGN(const job::ReplayedJob job, job::replay_job(o.call));
  const Json json = json_if_asked(o.json, [&] { return to_json(job); });
  CHAKRA_TRY(write_files(o, job, json));
  print(o.json == "-" ? to_text(json) : view::to_text(report_of(job)));
  return {};
}

/// The job, and what stands for communication and computation.
std::vector<Option> replay_job_rows(ReplayOptions& o) {
  return {
      {.names = "path",
       .target = &o.call.path,
       .help = "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace",
       .value = "PATH",
       .required = true},
      {.names = "--groups", .target = &o.call.groups, .help = "Process groups, name -> ranks (JSON)", .value = "FILE"},
      {.names = "--backend",
       .target = &o.call.backend,
       .help = "What carries out communication ('chakra list replay')",
       .value = "NAME",
       .shows_default = true},
      {.names = "--backend-option",
       .target = &o.call.settings,
       .help = "An option of the back end ('chakra list replay'). May be given several times",
       .value = "KEY=VALUE",
       .one_each = true},
      {.names = "--compute",
       .target = &o.call.compute,
       .help = "What stands for computation ('chakra list replay')",
       .value = "NAME",
       .shows_default = true},
      {.names = "--compute-option",
       .target = &o.call.compute_settings,
       .help = "An option of the computation ('chakra list replay'). May be given several times",
       .value = "KEY=VALUE",
       .one_each = true},
      {.names = "--scale-compute",
       .target = &o.call.scale_compute,
       .help = "Computation takes X times its recorded time; with --compute work X times its operations and bytes "
               "(default: 1)",
       .value = "X",
       .accepted = real_number(0, 1e6)},
      {.names = "--files",
       .target = &o.call.files,
       .help =
           "Carry out loads and stores as reads and writes of their bytes, in files in this folder. Without it they "
           "take what --compute says",
       .value = "FOLDER"},
      {.names = "--file-cache",
       .target = &o.call.file_cache,
       .help = "With --files: what the page cache may do ('chakra list replay')",
       .value = "HOW",
       .shows_default = true},
      {.names = "--verify",
       .target = &o.call.verify,
       .help =
           "Give every operation known data, and end with exit code 4 where what comes out is not what it promises"},
      {.names = "--no-check", .target = &o.no_check, .help = "Run also what 'chakra check' says cannot run"},
      {.names = "--timeout",
       .target = &o.call.timeout_s,
       .help = "End with exit code 4 and who waits for whom when within this time nothing moves and no rank "
               "computes, or ranks do not come (default: 8)",
       .value = "SECONDS",
       .accepted = real_number(0.1, 1e6)},
  };
}

/// Which process is which rank.
std::vector<Option> replay_rank_rows(ReplayOptions& o) {
  return {
      {.names = "--rank",
       .target = &o.call.rank,
       .help = "This process is rank R of --ranks, and reads only its trace. Without it, and without a launcher "
               "(mpirun, srun, torchrun), this process runs all ranks",
       .value = "R",
       .accepted = whole_number(0, INT32_MAX)},
      {.names = "--ranks",
       .target = &o.call.ranks,
       .help = "With --rank: how many ranks there are",
       .value = "N",
       .accepted = whole_number(1, INT32_MAX)},
      {.names = "--rendezvous",
       .target = &o.call.rendezvous,
       .help = "Where the ranks meet: host:port of rank 0, or on one machine the path of a socket, with a / in it",
       .value = "PLACE"},
      {.names = "--shrink",
       .target = &o.call.shrink,
       .help = "Run the first N ranks of the job: the others leave their groups, and what they would get is left out",
       .value = "N",
       .accepted = whole_number(1, INT32_MAX)},
      {.names = "--auto-shrink",
       .target = &o.call.auto_shrink,
       .help = "Run the first ranks of the job: as many as --ranks or the launcher says"},
      {.names = "--expand",
       .target = &o.call.expand,
       .help =
           "Run N ranks, a multiple of M that were recorded: rank R does what rank R mod M did, groups of all ranks "
           "grow, others are copied",
       .value = "N",
       .accepted = whole_number(1, INT32_MAX)},
  };
}

/// Which part runs, and how often.
std::vector<Option> replay_part_rows(ReplayOptions& o) {
  return {
      {.names = "--dry-run", .target = &o.call.dry_run, .help = "Say what would run, and run nothing"},
      {.names = "--steps",
       .target = &o.call.selection.steps,
       .help = "Only these training steps, by the numbers in ProfilerStep#N",
       .value = "FIRST:COUNT"},
      {.names = "--subgraph",
       .target = &o.call.selection.subgraph,
       .help = "Only nodes of this name and what they call",
       .value = "NAME"},
      {.names = "--allow-ops",
       .target = &o.call.selection.types,
       .help = "Communicate only by these operations, separated by commas: all_reduce, all_to_allv, send, ...; none: "
               "by none, "
               "so that partners are not needed",
       .value = "NAMES",
       .delimiter = ','},
      {.names = "--only-groups",
       .target = &o.call.selection.groups,
       .help = "Communicate only in these process groups, separated by commas",
       .value = "NAMES",
       .delimiter = ','},
      {.names = "--min-size",
       .target = &o.call.selection.min_bytes,
       .help = "Communicate only what has N bytes or more",
       .value = "N",
       .accepted = whole_number(0, INT64_MAX)},
      {.names = "--max-size",
       .target = &o.call.selection.max_bytes,
       .help = "Communicate only what has N bytes or fewer",
       .value = "N",
       .accepted = whole_number(0, INT64_MAX)},
      {.names = "-w,--warmup-iter",
       .target = &o.call.warmup,
       .help = "Run it N times before it counts (default: 0)",
       .value = "N",
       .accepted = whole_number(0, kMostRepetitions)},
      {.names = "-n,--num-replays,--iter",
       .target = &o.call.repetitions,
       .help = "Run it N times (default: 1)",
       .value = "N",
       .accepted = whole_number(1, kMostRepetitions)},
  };
}

std::vector<Option> replay_output_rows(ReplayOptions& o) {
  return {
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write the traces with the times of the last repetition as PREFIX.<rank>.et",
       .value = "PREFIX"},
      {.names = "--compare",
       .target = &o.call.compare,
       .help = "Say how alike the times are to those that were recorded, as 'chakra diff --timing' does"},
      {.names = "--timeline",
       .target = &o.timeline,
       .help =
           "Write when everything ran, for https://ui.perfetto.dev. In names of files {rank} is the rank of a process; "
           "under a launcher each rank needs a file of its own",
       .value = "FILE"},
      {.names = "--flows",
       .target = &o.flows_file,
       .help =
           "Run nothing: write which rank sends how much to which after what, as CSV, or as JSON to a name in .json",
       .value = "FILE"},
      {.names = "--network",
       .target = &o.flows.network,
       .help = "With --flows: the network that algorithms of collectives are chosen for (default: one switch)",
       .value = "FILE"},
      {.names = "--collectives",
       .target = &o.flows.collectives,
       .help = "With --flows: which algorithms, as text or in a file (chakra list collectives)",
       .value = "RULES"},
      {.names = "--csv", .target = &o.csv, .help = "Write the tables as PREFIX.<table>.csv", .value = "PREFIX"},
      json_option(o.json),
  };
}

}  // namespace

Syntax replay_syntax() {
  auto o = std::make_shared<ReplayOptions>();
  std::vector<Option> all;
  for (const auto rows : {replay_job_rows, replay_rank_rows, replay_part_rows, replay_output_rows})
    for (Option& row : rows(*o)) all.push_back(std::move(row));
  return {.options = std::move(all), .run = exits_with_zero([o] { return run_replay(*o); })};
}

}  // namespace chakra::cli
