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
           "With -, standard output holds only the JSON."},
          {"--jobs", &g.jobs, "Use at most N cores (default: all)", "N", options::whole_number(1, kMostCores)},
          {"--max-unpacked",
           options::bytes_form(g.max_unpacked),
           "Size limit of an unpacked input, or of a pipe",
           "BYTES",
           {},
           "A number of bytes, or with a unit such as 64GiB. Default: 1,000 times the packed size, at most 16 GiB."}};
}

}  // namespace chakra::cli
