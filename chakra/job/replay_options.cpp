// The options of a job that runs for real, by theme, in the order of --help.
#include "chakra/job/replay.h"
#include "chakra/job/shared_options.h"

namespace chakra::job {
namespace {

constexpr int64_t kMostRepetitions = 1'000'000;

/// The job, and what stands for communication and computation.
Options job_rows(ReplayOptions& o) {
  Option cache{"--file-cache", &o.file_cache, "With --files: what the page cache may do (chakra list replay)", "HOW",
               one_of(names(replay::kFileCaches))};
  Option order{"--file-order", &o.file_order, "With --files: where loads and stores lie (chakra list replay)", "HOW",
               one_of(names(replay::kFileOrders))};
  cache.needs = order.needs = "--files";
  return {
      job_option(o.path),
      groups_option(o.groups),
      {"--backend", &o.backend, "What carries out communication (chakra list replay)", "NAME",
       one_of(names(replay::kBackends))},
      each_time({"--backend-option", &o.settings, "An option of the back end (chakra list replay)", "KEY=VALUE"}),
      {"--compute", &o.compute, "What stands for computation (chakra list replay)", "NAME",
       one_of(names(replay::kComputes))},
      each_time(
          {"--compute-option", &o.compute_settings, "An option of the computation (chakra list replay)", "KEY=VALUE"}),
      {"--scale-compute", &o.scale_compute, "Computation takes X times its recorded time", "X", real_number(0, 1e6),
       "With --compute work, it does X times its operations and bytes."},
      {"--files",
       &o.files,
       "Carry out loads and stores as reads and writes of files in this folder",
       "FOLDER",
       {},
       "Without it, they take what --compute says."},
      std::move(cache),
      std::move(order),
      {"--start", choice(o.start, kReplayStarts), "Whether ranks begin as far apart as recorded, or together", "HOW"},
      {"--verify",
       &o.verify,
       "Give operations known data, and compare what comes out",
       {},
       {},
       "The exit code is 4 where an operation does not leave what it promises."},
      {"--no-check", &o.no_check, "Run also what 'chakra check' says cannot run"},
      {"--timeout", &o.timeout_s, "End with 4 when nothing moves and no rank computes for so long", "SECONDS",
       real_number(0.1, 1e6), "The error says who waits for whom. It also ends the wait for ranks that do not come."}};
}

/// Which process is which rank.
Options rank_rows(ReplayOptions& o) {
  const options::Accepted many = whole_number(1, INT32_MAX);
  return {{"--rank", &o.rank, "This process is rank R of --ranks, and reads only its trace", "R",
           whole_number(0, INT32_MAX),
           "Without it, and without a launcher (mpirun, srun, torchrun), this process runs all ranks."},
          {"--ranks", &o.ranks, "With --rank: how many ranks there are", "N", many},
          {"--rendezvous",
           &o.rendezvous,
           "Where ranks meet: host:port of rank 0, or the path of a socket",
           "PLACE",
           {},
           "A socket is for one machine, and its path has a / in it."},
          {"--shrink", &o.shrink, "Run the first N ranks of the job", "N", many,
           "The others leave their groups, and what they would get is left out."},
          {"--auto-shrink", &o.auto_shrink, "Run as many of the first ranks as --ranks or the launcher says"},
          {"--expand", &o.expand, "Run N ranks, a multiple of M that were recorded", "N", many,
           "Rank R does what rank R mod M did. Groups of all ranks grow, others are copied."}};
}

/// Which part runs, and how often.
Options part_rows(ReplayOptions& o) {
  ReplaySelection& s = o.selection;
  Option compare{"--compare", &o.compare, "Say how alike the times are to the recorded ones",
                 {},          {},         "The tables are those of 'chakra diff --timing'."};
  compare.excludes = "--dry-run";
  return {{"--dry-run", &o.dry_run, "Say what would run, and run nothing"},
          {"--steps", &s.steps, "Only these training steps, by the numbers in ProfilerStep#N", "FIRST:COUNT"},
          {"--subgraph", &s.subgraph, "Only nodes of this name, and what they call", "NAME"},
          separated({"--allow-ops",
                     &s.types,
                     "Communicate only by these operations: all_reduce, send, ...",
                     "NAMES",
                     {},
                     "Separate names with commas. none: by none, so that partners are not needed."}),
          separated({"--only-groups",
                     &s.groups,
                     "Communicate only in these process groups",
                     "NAMES",
                     {},
                     "Separate names with commas."}),
          {"--min-size", &s.min_bytes, "Communicate only what has N bytes or more", "N", whole_number(0, INT64_MAX)},
          {"--max-size", &s.max_bytes, "Communicate only what has N bytes or fewer", "N", whole_number(0, INT64_MAX)},
          {"-w,--warmup-iter", &o.warmup, "Run it N times before it counts", "N", whole_number(0, kMostRepetitions)},
          {"-n,--num-replays,--iter", &o.repetitions, "Run it N times", "N", whole_number(1, kMostRepetitions)},
          std::move(compare)};
}

}  // namespace

Options rows_of(ReplayOptions& o) {
  Options rows = job_rows(o);
  add(rows, rank_rows(o));
  add(rows, part_rows(o));
  return rows;
}

Options rows_of(FlowsOptions& o) {
  return {{"--network",
           &o.network,
           "With --flows: the network that algorithms are chosen for",
           "FILE",
           {},
           "Without it, all ranks are at one switch."},
          {"--collectives", &o.collectives, "With --flows: algorithms (chakra list collectives)", "RULES"}};
}

}  // namespace chakra::job
