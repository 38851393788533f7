// The options of 'chakra replay', by theme, in the order of --help.
#include "chakra/cli/replay_options.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostRepetitions = 1'000'000;

/// The job, and what stands for communication and computation.
std::vector<Option> replay_job_rows(ReplayOptions& o) {
  return {
      required({"path", &o.call.path, "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace", "PATH"}),
      {"--groups", &o.call.groups, "Process groups, name -> ranks (JSON)", "FILE"},
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
      {"--scale-compute", &o.call.scale_compute,
       "Computation takes X times its recorded time; with --compute work X times its operations and bytes (default: 1)",
       "X", real_number(0, 1e6)},
      {"--files", &o.call.files,
       "Carry out loads and stores as reads and writes of their bytes, in files in this folder. Without it they take "
       "what --compute says",
       "FOLDER"},
      {.names = "--file-cache",
       .target = &o.call.file_cache,
       .help = "With --files: what the page cache may do ('chakra list replay')",
       .value = "HOW",
       .shows_default = true},
      {.names = "--file-order",
       .target = &o.call.file_order,
       .help = "With --files: where the places of loads and stores lie ('chakra list replay')",
       .value = "HOW",
       .shows_default = true},
      {.names = "--start",
       .target = &o.call.start,
       .help = "Whether the ranks begin as far apart as recorded, or together",
       .value = "HOW",
       .accepted = one_of({"recorded", "together"}),
       .shows_default = true},
      {"--verify", &o.call.verify,
       "Give every operation known data, and end with exit code 4 where what comes out is not what it promises"},
      {"--no-check", &o.no_check, "Run also what 'chakra check' says cannot run"},
      {"--timeout", &o.call.timeout_s,
       "End with exit code 4 and who waits for whom when within this time nothing moves and no rank computes, or ranks "
       "do not come (default: 8)",
       "SECONDS", real_number(0.1, 1e6)},
  };
}

/// Which process is which rank.
std::vector<Option> replay_rank_rows(ReplayOptions& o) {
  return {
      {"--rank", &o.call.rank,
       "This process is rank R of --ranks, and reads only its trace. Without it, and without a launcher (mpirun, srun, "
       "torchrun), this process runs all ranks",
       "R", whole_number(0, INT32_MAX)},
      {"--ranks", &o.call.ranks, "With --rank: how many ranks there are", "N", whole_number(1, INT32_MAX)},
      {"--rendezvous", &o.call.rendezvous,
       "Where the ranks meet: host:port of rank 0, or on one machine the path of a socket, with a / in it", "PLACE"},
      {"--shrink", &o.call.shrink,
       "Run the first N ranks of the job: the others leave their groups, and what they would get is left out", "N",
       whole_number(1, INT32_MAX)},
      {"--auto-shrink", &o.call.auto_shrink, "Run the first ranks of the job: as many as --ranks or the launcher says"},
      {"--expand", &o.call.expand,
       "Run N ranks, a multiple of M that were recorded: rank R does what rank R mod M did, groups of all ranks grow, "
       "others are copied",
       "N", whole_number(1, INT32_MAX)},
  };
}

/// Which part runs, and how often.
std::vector<Option> replay_part_rows(ReplayOptions& o) {
  return {
      {"--dry-run", &o.call.dry_run, "Say what would run, and run nothing"},
      {"--steps", &o.call.selection.steps, "Only these training steps, by the numbers in ProfilerStep#N",
       "FIRST:COUNT"},
      {"--subgraph", &o.call.selection.subgraph, "Only nodes of this name and what they call", "NAME"},
      {.names = "--allow-ops",
       .target = &o.call.selection.types,
       .help = "Communicate only by these operations, separated by commas: all_reduce, all_to_allv, send, ...; none: "
               "by none, so that partners are not needed",
       .value = "NAMES",
       .delimiter = ','},
      {.names = "--only-groups",
       .target = &o.call.selection.groups,
       .help = "Communicate only in these process groups, separated by commas",
       .value = "NAMES",
       .delimiter = ','},
      {"--min-size", &o.call.selection.min_bytes, "Communicate only what has N bytes or more", "N",
       whole_number(0, INT64_MAX)},
      {"--max-size", &o.call.selection.max_bytes, "Communicate only what has N bytes or fewer", "N",
       whole_number(0, INT64_MAX)},
      {"-w,--warmup-iter", &o.call.warmup, "Run it N times before it counts (default: 0)", "N",
       whole_number(0, kMostRepetitions)},
      {"-n,--num-replays,--iter", &o.call.repetitions, "Run it N times (default: 1)", "N",
       whole_number(1, kMostRepetitions)},
  };
}

std::vector<Option> replay_output_rows(ReplayOptions& o) {
  return {
      {"-o,--output", &o.outputs.traces, "Write the traces with the times of the last repetition as PREFIX.<rank>.et",
       "PREFIX"},
      {"--compare", &o.call.compare,
       "Say how alike the times are to those that were recorded, as 'chakra diff --timing' does"},
      {"--timeline", &o.outputs.timeline,
       "Write when everything ran, for https://ui.perfetto.dev. In names of files {rank} is the rank of a process; "
       "under a launcher each rank needs a file of its own",
       "FILE"},
      {"--flows", &o.flows_file,
       "Run nothing: write which rank sends how much to which after what, as CSV, or as JSON to a name in .json",
       "FILE"},
      {"--network", &o.flows.network,
       "With --flows: the network that algorithms of collectives are chosen for (default: one switch)", "FILE"},
      {"--collectives", &o.flows.collectives,
       "With --flows: which algorithms, as text or in a file (chakra list collectives)", "RULES"},
      {"--csv", &o.outputs.csv, "Write the tables as PREFIX.<table>.csv", "PREFIX"},
      json_option(o.outputs.json),
  };
}

}  // namespace

std::vector<Option> replay_rows(ReplayOptions& options) {
  std::vector<Option> all;
  for (const auto theme : {replay_job_rows, replay_rank_rows, replay_part_rows, replay_output_rows})
    for (Option& row : theme(options)) all.push_back(std::move(row));
  return all;
}

}  // namespace chakra::cli
