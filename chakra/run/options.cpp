// The options of a job that runs for real, by theme, in the order of --help.
#include "chakra/job/parts.h"
#include "chakra/run/replay.h"
#include "chakra/run/rows.h"

namespace chakra::run {
namespace {

using options::choice;
using options::names;
using options::one_of;
using options::Option;
using options::Options;
using options::real_number;
using options::whole_number;

constexpr int64_t kMostRepetitions = 1'000'000;

/// The job, and what stands for communication and computation.
Options job_rows(ReplayOptions& o) {
  Option cache{"--file-cache", &o.file_cache, "With --files: use of the page cache (chakra list replay)", "HOW",
               one_of(names(replay::kFileCaches))};
  Option order{"--file-order", &o.file_order, "With --files: placement of loads and stores (chakra list replay)", "HOW",
               one_of(names(replay::kFileOrders))};
  cache.needs = order.needs = "--files";
  return {
      job::job_option(o.path),
      job::groups_option(o.groups),
      {"--backend", &o.backend, "Back end that carries out communication (chakra list replay)", "NAME",
       one_of(names(kBackends))},
      job::each_time({"--backend-option", &o.settings, "Option of the back end (chakra list replay)", "KEY=VALUE"}),
      {"--compute", &o.compute, "Substitute for computation (chakra list replay)", "NAME", one_of(names(kComputes))},
      job::each_time(
          {"--compute-option", &o.compute_settings, "Option of the substitute (chakra list replay)", "KEY=VALUE"}),
      {"--scale-compute", &o.scale_compute, "Multiply the recorded time of computation by X", "X", real_number(0, 1e6),
       "With --compute work, FLOPs and bytes are multiplied by X."},
      {"--files",
       &o.files,
       "Run loads and stores as reads and writes of files in this folder",
       "FOLDER",
       {},
       "Without it, --compute also replaces loads and stores."},
      std::move(cache),
      std::move(order),
      {"--start", choice(o.start, kReplayStarts), "Start ranks as far apart as recorded, or together", "HOW"},
      {"--verify",
       &o.verify,
       "Run operations on known data, and check the results",
       {},
       {},
       "The exit code is 4 if an operation gives a wrong result."},
      {"--no-check", &o.no_check, "Skip the checks of 'chakra check'"},
      {"--timeout", &o.timeout_s, "Exit with 4 after this time without data transfer or computation", "SECONDS",
       real_number(0.1, 1e6),
       "The error lists the ranks that each rank waits for. The limit also applies to ranks that never connect."}};
}

/// Which process is which rank.
Options rank_rows(ReplayOptions& o) {
  const options::Accepted many = whole_number(1, INT32_MAX);
  return {{"--rank", &o.rank, "Run this process as rank R of --ranks, and read only its trace", "R",
           whole_number(0, INT32_MAX),
           "Without it, and without a launcher (mpirun, srun, torchrun), this process runs all ranks."},
          {"--ranks", &o.ranks, "With --rank: number of ranks", "N", many},
          {"--rendezvous",
           &o.rendezvous,
           "Meeting point of ranks: host:port of rank 0, or the path of a socket",
           "PLACE",
           {},
           "A socket works on one machine; its path must contain a slash."},
          {"--shrink", &o.shrink, "Run the first N ranks of the job", "N", many,
           "The other ranks leave their groups, and data for them is left out."},
          {"--auto-shrink", &o.auto_shrink, "Shrink the job to the number of ranks of --ranks or the launcher"},
          {"--expand", &o.expand, "Run N ranks, a multiple of the M recorded ranks", "N", many,
           "Rank R repeats rank R mod M. Groups of all ranks grow, others are copied."}};
}

/// Which part runs, and how often.
Options part_rows(ReplayOptions& o) {
  replay::Selection& s = o.selection;
  Option compare{"--compare", &o.compare, "Compare the times with the recorded times",
                 {},          {},         "The output has the tables of 'chakra diff --timing'."};
  compare.excludes = "--flows, --dry-run";
  Option dry{"--dry-run", &o.dry_run, "Print the plan without running the job"};
  dry.excludes = "--flows";
  return {
      std::move(dry),
      {"--steps", options::steps_form(s.steps), "Run only the ProfilerSteps A to B, inclusive", "A:B"},
      {"--subgraph", &s.subgraph, "Only nodes of this name and their callees", "NAME"},
      job::separated(
          {"--allow-ops",
           &s.types,
           "Communicate only with these operations: all_reduce, send, ...",
           "NAMES",
           {},
           "Separate names with commas. The name 'none' disables communication, so that a rank needs no partners."}),
      job::separated({"--only-groups",
                      &s.groups,
                      "Communicate only in these process groups",
                      "NAMES",
                      {},
                      "Separate names with commas."}),
      {"--min-size", &s.min_bytes, "Skip communication of fewer than N bytes", "N", whole_number(0, INT64_MAX)},
      {"--max-size", &s.max_bytes, "Skip communication of more than N bytes", "N", whole_number(0, INT64_MAX)},
      {"-w,--warmup-iter", &o.warmup, "Number of warm-up runs", "N", whole_number(0, kMostRepetitions)},
      {"-n,--num-replays,--iter", &o.repetitions, "Number of measured runs", "N", whole_number(1, kMostRepetitions)},
      std::move(compare)};
}

Options output_rows(ReplayOutputs& o) {
  Options rows{
      {"-o,--output", &o.traces, "Write the traces with the times of the last run as PREFIX.<rank>.et", "PREFIX"},
      {"--timeline",
       &o.timeline,
       "Write a timeline for https://ui.perfetto.dev",
       "FILE",
       {},
       "In file names, {rank} stands for the rank of a process. Under a launcher, each rank needs a separate file."}};
  for (Option& row : rows) row.excludes = "--flows, --dry-run";
  return rows;
}

/// The flows, instead of a run.
Options flows_rows(FlowsOptions& o) {
  Options rows{{"--network",
                &o.network,
                "With --flows: network for which algorithms are selected",
                "FILE",
                {},
                "Default: all ranks at one switch."},
               {"--collectives", &o.collectives, "With --flows: algorithms (chakra list collectives)", "RULES"}};
  for (Option& row : rows) row.needs = "--flows";
  rows.insert(rows.begin(),
              {"--flows",
               &o.file,
               "Write the flows between ranks, without running the job",
               "FILE",
               {},
               "Each flow lists the flows that it depends on. The file is CSV, or JSON if its name ends in .json."});
  return rows;
}

}  // namespace

Options rows_of(ReplayOptions& o) {
  Options rows = job_rows(o);
  add(rows, rank_rows(o));
  add(rows, part_rows(o));
  add(rows, output_rows(o.outputs));
  add(rows, flows_rows(o.flows));
  return rows;
}

}  // namespace chakra::run
