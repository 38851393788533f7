// chakra gen: traces without a recording, a subcommand per kind of them.
#include "chakra/cli/cli.h"

namespace chakra::cli {

void add_gen(CLI::App& app, int& exit_code) {
  app.require_subcommand(1);
  add_gen_cases(app, exit_code);
}

}  // namespace chakra::cli
