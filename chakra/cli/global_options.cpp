// Options of every subcommand.
#include "chakra/cli/cli.h"

namespace chakra::cli {

options::Options rows_of(Globals& g) {
  constexpr int64_t kMostCores = 256;
  return {{"--json",
           &g.json,
           "Write the results as JSON to FILE; - for standard output",
           "FILE",
           {},
           "With -, nothing else is written to standard output."},
          {"--all", &g.all, "Print every row and column of a table of the answer, and nothing else", "TABLE"},
          {"--jobs", &g.jobs, "Work on at most N cores (default: all)", "N", options::whole_number(1, kMostCores)},
          {"--max-unpacked",
           options::bytes_form(g.max_unpacked),
           "Largest size of an unpacked input, or of a pipe",
           "BYTES",
           {},
           "A number with a unit such as 64GiB, or without. Without the option, 1,000 times the packed bytes, and at "
           "most 16 GiB."}};
}

}  // namespace chakra::cli
